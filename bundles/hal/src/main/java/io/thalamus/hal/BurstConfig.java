// SPDX-License-Identifier: Apache-2.0
package io.thalamus.hal;

import io.thalamus.memory.SharedMemory;
import java.time.Duration;
import java.util.Objects;
import java.util.function.IntFunction;

/**
 * The settings of one burst that a driver is to serve. Immutable. The memories in it are lent until
 * the context is closed.
 *
 * @param callback resolves slots of memories
 * @param requestChannel written by the client, read by the server
 * @param resultChannel written by the server, read by the client
 * @param protocol the version of the packets
 * @param pollWindow how long a reader polls before it sleeps; zero for LOW_POWER
 */
public record BurstConfig(
    BurstCallback callback,
    QueueDescriptor requestChannel,
    QueueDescriptor resultChannel,
    Protocol protocol,
    Duration pollWindow) {
  /** NNAPI's window on both sides. */
  public static final Duration DEFAULT_POLL_WINDOW = Duration.ofNanos(50_000);

  public BurstConfig {
    Objects.requireNonNull(callback, "callback");
    Objects.requireNonNull(requestChannel, "requestChannel");
    Objects.requireNonNull(resultChannel, "resultChannel");
    Objects.requireNonNull(protocol, "protocol");
    Objects.requireNonNull(pollWindow, "pollWindow");
  }

  /** The version of the packets, which the client proposes when it opens the burst. */
  public sealed interface Protocol {
    /** The packets of HAL 1.2, byte for byte. */
    Protocol HAL_1_2 = new Hal12();
  }

  /** See {@link Protocol#HAL_1_2}. */
  public record Hal12() implements Protocol {}

  /**
   * Version 2, whose packets may also have a deadline, a loop timeout and tokens of buffers. A
   * driver that does not know it refuses the burst with INVALID_ARGUMENT; the client may then
   * propose {@link Protocol#HAL_1_2}.
   *
   * @param control one page of 4096 bytes, as {@code io.thalamus.burst.packet.ControlPage} draws
   *     it: it says where packets end, and the server reads at checkpoints which are cancelled
   * @param buffers finds, by its token, a buffer that this client allocated; returns null when
   *     there is none. Tokens of other clients are unknown to it.
   */
  public record Version2(SharedMemory control, IntFunction<DeviceBuffer> buffers)
      implements Protocol {
    public Version2 {
      Objects.requireNonNull(control, "control");
      Objects.requireNonNull(buffers, "buffers");
    }
  }
}
