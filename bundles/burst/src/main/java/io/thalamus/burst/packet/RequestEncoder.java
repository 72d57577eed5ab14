// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst.packet;

import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.Request;
import io.thalamus.hal.Request.Argument;
import io.thalamus.hal.Request.Location;
import io.thalamus.model.NanoClock;
import io.thalamus.model.Shape;
import java.util.List;

/**
 * A packet of a request that is written once and sent often: when only the settings of the
 * execution change, only the elements at the end are written anew. Used by one thread at a time.
 * Allocates only where a packet is longer than all before.
 */
public final class RequestEncoder {
  private final Datums datums = new Datums();
  private final boolean isVersion2;

  /** Elements in front of the settings; 0 where there is no request. */
  private int head;

  /** The settings in the packet; null where it has none, or a deadline, which is said anew. */
  private ExecutionConfig written;

  /** An encoder for packets of version 1 or 2. */
  public RequestEncoder(int version) {
    this.isVersion2 = version == 2;
  }

  /** Returns the packet that was written last. */
  public Datums packet() {
    return datums;
  }

  /**
   * Writes a request.
   *
   * @param slots one for each pool; not looked at where the pool is the buffer of a device
   * @return false where this version cannot say it; then there is no packet
   */
  public boolean encode(Request request, int[] slots) {
    head = 0;
    written = null;
    if (!canSay(request)) {
      return false;
    }
    datums.resize(0);
    int information = datums.append(RequestDatum.PACKET_INFORMATION);
    datums.setInt(information, RequestDatum.INPUTS, request.inputs().size());
    datums.setInt(information, RequestDatum.OUTPUTS, request.outputs().size());
    datums.setInt(information, RequestDatum.POOLS, request.pools().size());
    append(
        request.inputs(),
        RequestDatum.INPUT_OPERAND_INFORMATION,
        RequestDatum.INPUT_OPERAND_DIMENSION_VALUE);
    append(
        request.outputs(),
        RequestDatum.OUTPUT_OPERAND_INFORMATION,
        RequestDatum.OUTPUT_OPERAND_DIMENSION_VALUE);
    for (int i = 0; i < request.pools().size(); i++) {
      if (request.pools().get(i) instanceof MemoryPool.Device device) {
        int index = datums.append(RequestDatum.BUFFER_TOKEN);
        datums.setInt(index, RequestDatum.VALUE, device.buffer().token());
      } else {
        int index = datums.append(RequestDatum.POOL_IDENTIFIER);
        datums.setInt(index, RequestDatum.VALUE, slots[i]);
      }
    }
    head = datums.count();
    return true;
  }

  private void append(List<Argument> arguments, byte information, byte dimension) {
    for (int i = 0; i < arguments.size(); i++) {
      int index = datums.append(information);
      if (arguments.get(i) instanceof Location location) {
        datums.setInt(index, RequestDatum.POOL_INDEX, location.pool());
        datums.setInt(index, RequestDatum.OFFSET, (int) location.offset());
        datums.setInt(index, RequestDatum.LENGTH, (int) location.length());
        Shape shape = location.shape();
        datums.setInt(index, RequestDatum.DIMENSIONS, shape.rank());
        for (int axis = 0; axis < shape.rank(); axis++) {
          datums.setInt(datums.append(dimension), RequestDatum.VALUE, shape.dimension(axis));
        }
      } else {
        datums.setByte(index, RequestDatum.HAS_NO_VALUE, 1);
      }
    }
  }

  /**
   * Writes the settings behind the request.
   *
   * @param isClockShared whether {@link System#nanoTime()} reads the same on both sides
   * @return false where this version cannot say them; then there is no packet
   */
  public boolean encode(ExecutionConfig config, boolean isClockShared) {
    if (head == 0 || !canSay(config)) {
      return false;
    }
    if (written != null && saysSame(config)) {
      return true;
    }
    datums.resize(head);
    int timing = datums.append(RequestDatum.MEASURE_TIMING);
    datums.setInt(timing, RequestDatum.VALUE, config.measureTiming() ? 1 : 0);
    if (config.deadline().isSet()) {
      int deadline = datums.append(RequestDatum.DEADLINE);
      long nanoTime = config.deadline().nanoTime();
      // The other side knows no clock but that of the system.
      boolean isMoment = isClockShared && config.deadline().clock() == NanoClock.SYSTEM;
      datums.setInt(
          deadline,
          RequestDatum.CLOCK,
          isMoment ? RequestDatum.CLOCK_SHARED : RequestDatum.CLOCK_REMAINING);
      datums.setLong(
          deadline, RequestDatum.NANOS, isMoment ? nanoTime : nanoTime - config.nanoTime());
    }
    if (!config.loopTimeout().equals(ExecutionConfig.DEFAULT_LOOP_TIMEOUT)) {
      int timeout = datums.append(RequestDatum.LOOP_TIMEOUT);
      datums.setLong(timeout, RequestDatum.NANOS, config.loopTimeout().toNanos());
    }
    datums.setInt(0, RequestDatum.PACKET_SIZE, datums.count());
    written = config.deadline().isSet() ? null : config.with(ExecutionControl.NONE);
    return true;
  }

  private boolean saysSame(ExecutionConfig config) {
    return config.measureTiming() == written.measureTiming()
        && !config.deadline().isSet()
        && config.loopTimeout().equals(written.loopTimeout());
  }

  private boolean canSay(ExecutionConfig config) {
    return config.duration().isEmpty()
        && (isVersion2
            || (!config.deadline().isSet()
                && config.loopTimeout().equals(ExecutionConfig.DEFAULT_LOOP_TIMEOUT)));
  }

  private boolean canSay(Request request) {
    if (!canSay(request.inputs()) || !canSay(request.outputs())) {
      return false;
    }
    for (int i = 0; i < request.pools().size(); i++) {
      if (!isVersion2 && request.pools().get(i) instanceof MemoryPool.Device) {
        return false;
      }
    }
    return true;
  }

  private static boolean canSay(List<Argument> arguments) {
    for (int i = 0; i < arguments.size(); i++) {
      boolean can =
          switch (arguments.get(i)) {
            case Request.Pointer _ -> false;
            case Location location ->
                isUnsigned(location.offset()) && isUnsigned(location.length());
            case Request.NoValue _ -> true;
          };
      if (!can) {
        return false;
      }
    }
    return true;
  }

  /** Returns whether a value fits in 32 bits without a sign. */
  private static boolean isUnsigned(long value) {
    return value >>> Integer.SIZE == 0;
  }
}
