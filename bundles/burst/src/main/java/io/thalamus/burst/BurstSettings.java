// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst;

import io.thalamus.hal.BurstConfig;
import io.thalamus.hal.DeviceBuffer;
import java.time.Duration;
import java.util.Objects;
import java.util.function.IntFunction;

/**
 * The wishes of a client that opens a burst. Immutable.
 *
 * @param depth how many requests may be under way at once; at least 1. More than 128 are as 128,
 *     and with version 1 there is one at a time
 * @param pollWindow how long each reader polls before it sleeps; zero for LOW_POWER
 * @param queueLength elements of each queue; NNAPI's is {@value #DEFAULT_QUEUE_LENGTH}
 * @param version 1 for the packets of HAL 1.2, 2 for those with deadlines, loop timeouts and tokens
 * @param buffers finds a buffer of this client by its token; returns null when there is none
 * @param isServedByCaller whether a request may be executed by the thread that receives its result,
 *     within {@link BurstClient#receive}, which then takes as long as that takes: so it is where
 *     the server is in the same process and one request is under way at a time. Nothing is handed
 *     over, and no thread is started. Elsewhere the server has a thread, as without this
 */
public record BurstSettings(
    int depth,
    Duration pollWindow,
    int queueLength,
    int version,
    IntFunction<DeviceBuffer> buffers,
    boolean isServedByCaller) {
  /** NNAPI's length of both queues. */
  public static final int DEFAULT_QUEUE_LENGTH = 1024;

  /** One request at a time, NNAPI's window and queues, version 2, no buffers. */
  public static final BurstSettings DEFAULT =
      new BurstSettings(1, BurstConfig.DEFAULT_POLL_WINDOW, DEFAULT_QUEUE_LENGTH, 2, token -> null);

  /** Wishes of a client whose requests are executed by a thread of the server. */
  public BurstSettings(
      int depth,
      Duration pollWindow,
      int queueLength,
      int version,
      IntFunction<DeviceBuffer> buffers) {
    this(depth, pollWindow, queueLength, version, buffers, false);
  }

  public BurstSettings {
    Objects.requireNonNull(pollWindow, "pollWindow");
    Objects.requireNonNull(buffers, "buffers");
    if (depth < 1 || queueLength < 2 || version < 1 || version > 2) {
      throw new IllegalArgumentException(
          "a burst of depth %d, queues of %d elements and version %d cannot be"
              .formatted(depth, queueLength, version));
    }
  }
}
