// SPDX-License-Identifier: Apache-2.0
package io.thalamus.hal;

import io.thalamus.model.DeviceInfo;
import io.thalamus.model.OperandType;
import io.thalamus.model.Shape;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Objects;

/**
 * The arguments of one execution. Immutable; pools and segments are lent until the execution
 * returns.
 *
 * @param inputs one for each input of the model
 * @param outputs one for each output of the model
 * @param pools the memories that the arguments stand in
 */
public record Request(List<Argument> inputs, List<Argument> outputs, List<MemoryPool> pools) {
  public Request {
    inputs = List.copyOf(inputs);
    outputs = List.copyOf(outputs);
    pools = List.copyOf(pools);
  }

  /** One input or output. */
  public sealed interface Argument {
    /** The operand has no value: an optional input that is left out. */
    Argument NO_VALUE = new NoValue();
  }

  /** See {@link Argument#NO_VALUE}. */
  public record NoValue() implements Argument {}

  /**
   * A value in a pool.
   *
   * @param pool index of the pool
   * @param offset in bytes; 0 for the buffer of a device
   * @param length in bytes; 0 for the buffer of a device
   * @param shape the dimensions, where they say more than the model; else {@link Shape#NONE}
   */
  public record Location(int pool, long offset, long length, Shape shape) implements Argument {
    public Location {
      Objects.requireNonNull(shape, "shape");
    }
  }

  /**
   * A value in memory of the caller, which is read or written in place.
   *
   * <p>Only {@link PreparedModel#execute} takes pointers, and only on a device whose facts say
   * {@link DeviceInfo#pointerArguments()}: others answer INVALID_ARGUMENT, and so does every device
   * to a segment that it cannot use. The contract has two sides.
   *
   * <ul>
   *   <li>The caller waits for the call however long it takes, and keeps the segment valid until it
   *       returns: nothing gives the call up earlier. The runtime therefore passes pointers only to
   *       devices that execute in its caller's own thread. A segment {@linkplain #suits suits} the
   *       type of its operand. It may be confined to the calling thread. No output overlaps another
   *       argument of the request.
   *   <li>The device accesses the segment only until it returns, and keeps no reference to it; only
   *       in the calling thread, unless it {@linkplain #isSteady is steady}. It reads inputs, and
   *       writes outputs within their bounds. The contents of an output are undefined unless the
   *       execution succeeds.
   * </ul>
   *
   * @param segment all bytes of the value, or the room for an output
   * @param shape the dimensions, where they say more than the model; else {@link Shape#NONE}
   */
  public record Pointer(MemorySegment segment, Shape shape) implements Argument {
    /** The class of the scopes of automatic arenas alone, which nobody closes; else null. */
    private static final Class<?> AUTOMATIC = automatic();

    private static Class<?> automatic() {
      // It has no memory. To close it would take a new process a millisecond.
      Arena closable = Arena.ofShared();
      Class<?> automatic = Arena.ofAuto().scope().getClass();
      return automatic.isInstance(closable.scope()) ? null : automatic;
    }

    public Pointer {
      Objects.requireNonNull(segment, "segment");
      Objects.requireNonNull(shape, "shape");
    }

    /** Returns whether values of a type can be passed in a segment: off the heap, and aligned. */
    public static boolean suits(MemorySegment segment, OperandType type) {
      // The elements of an extension may have any size, which their parts divide.
      int alignment = Math.min(Long.BYTES, Integer.lowestOneBit(type.elementSize()));
      return segment.isNative() && (alignment == 0 || segment.address() % alignment == 0);
    }

    /** Returns whether the calling thread can access a segment. */
    public static boolean isInReach(MemorySegment segment) {
      return segment.scope().isAlive() && segment.isAccessibleBy(Thread.currentThread());
    }

    /**
     * Returns whether the bytes of a segment are there as long as the segment is reachable, so that
     * machine code may access them by their address, in any thread: no thread can close its arena,
     * and no process can cut a file short below it.
     */
    public static boolean isSteady(MemorySegment segment) {
      return segment.scope().getClass() == AUTOMATIC && !segment.isMapped();
    }
  }
}
