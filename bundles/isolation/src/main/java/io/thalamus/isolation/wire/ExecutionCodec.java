// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation.wire;

import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.ExecutionResult.OutputInsufficientSize;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.Request;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Deadline;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.OutputShape;
import io.thalamus.model.Timing;
import io.thalamus.model.wire.Decoder;
import io.thalamus.model.wire.Encoder;
import io.thalamus.model.wire.GraphCodec;
import io.thalamus.model.wire.WireFormatException;
import java.time.Duration;
import java.util.List;
import java.util.function.IntFunction;
import java.util.function.ToIntFunction;

/**
 * Requests, their settings and their results as bytes. Deadlines cross as the time that is left,
 * which every platform understands. Stateless.
 */
public final class ExecutionCodec {
  private static final int NO_VALUE = 0;
  private static final int LOCATION = 1;

  private static final int SHARED = 0;
  private static final int BUFFER = 1;

  private static final int COMPLETED = 0;
  private static final int INSUFFICIENT = 1;
  private static final int FAILED = 2;

  private ExecutionCodec() {}

  /**
   * Writes a request without arguments by pointer.
   *
   * @param memories the memories among its pools, in their order
   * @param tokens names the buffers among its pools
   */
  public static void write(
      Encoder out,
      Request request,
      List<SharedMemory> memories,
      ToIntFunction<DeviceBuffer> tokens) {
    out.list(request.inputs(), ExecutionCodec::write);
    out.list(request.outputs(), ExecutionCodec::write);
    int[] next = new int[1];
    out.list(
        request.pools(),
        (to, pool) -> {
          switch (pool) {
            case MemoryPool.Shared _ -> to.int8(SHARED).int32(next[0]++);
            case MemoryPool.Device(DeviceBuffer buffer) ->
                to.int8(BUFFER).int32(tokens.applyAsInt(buffer));
          }
        });
    if (next[0] != memories.size()) {
      throw new IllegalArgumentException(next[0] + " pools, but " + memories.size() + " memories");
    }
  }

  /**
   * Reads a request.
   *
   * @param memories the memories among its pools
   * @param buffers finds those among its pools; never returns null
   */
  public static Request request(
      Decoder in, List<SharedMemory> memories, IntFunction<DeviceBuffer> buffers)
      throws WireFormatException {
    return new Request(
        in.list(ExecutionCodec::argument),
        in.list(ExecutionCodec::argument),
        in.list(from -> pool(from, memories, buffers)));
  }

  private static void write(Encoder out, Request.Argument argument) {
    switch (argument) {
      case Request.NoValue _ -> out.int8(NO_VALUE);
      case Request.Location location -> {
        out.int8(LOCATION).int32(location.pool());
        out.int64(location.offset()).int64(location.length());
        GraphCodec.writeShape(out, location.shape());
      }
      case Request.Pointer _ -> throw new IllegalArgumentException("a pointer means nothing there");
    }
  }

  private static Request.Argument argument(Decoder in) throws WireFormatException {
    int kind = in.int8();
    return switch (kind) {
      case NO_VALUE -> Request.Argument.NO_VALUE;
      case LOCATION ->
          new Request.Location(in.int32(), in.int64(), in.int64(), GraphCodec.shape(in));
      default -> throw WireFormatException.unknown("argument", kind);
    };
  }

  private static MemoryPool pool(
      Decoder in, List<SharedMemory> memories, IntFunction<DeviceBuffer> buffers)
      throws WireFormatException {
    int kind = in.int8();
    return switch (kind) {
      case SHARED -> new MemoryPool.Shared(memories.get(in.int32()));
      case BUFFER -> new MemoryPool.Device(buffers.apply(in.int32()));
      default -> throw WireFormatException.unknown("pool", kind);
    };
  }

  /** Writes settings, but for their control, which does not cross in a message. */
  public static void write(Encoder out, ExecutionConfig config) {
    write(out, config.deadline());
    duration(out, config.loopTimeout());
    out.optional(config.duration(), ExecutionCodec::duration);
    out.bool(config.measureTiming());
  }

  /** Reads settings, and gives them a control. */
  public static ExecutionConfig config(Decoder in, ExecutionControl control)
      throws WireFormatException {
    return new ExecutionConfig(
        deadline(in), duration(in), in.optional(ExecutionCodec::duration), in.bool(), control);
  }

  /** Writes a deadline as the time that is left. */
  public static void write(Encoder out, Deadline deadline) {
    out.bool(deadline.isSet());
    if (deadline.isSet()) {
      duration(out, deadline.remaining());
    }
  }

  /** Reads a deadline. */
  public static Deadline deadline(Decoder in) throws WireFormatException {
    return in.bool() ? Deadline.after(duration(in)) : Deadline.NONE;
  }

  static void duration(Encoder out, Duration duration) {
    out.int64(duration.getSeconds()).int32(duration.getNano());
  }

  static Duration duration(Decoder in) throws WireFormatException {
    return Duration.ofSeconds(in.int64(), in.int32());
  }

  /** Writes a result. */
  public static void write(Encoder out, ExecutionResult result) {
    switch (result) {
      case Completed completed -> {
        out.int8(COMPLETED).list(completed.outputs(), ExecutionCodec::write);
        write(out, completed.timing());
        out.int64(completed.bytesIn()).int64(completed.bytesOut());
      }
      case OutputInsufficientSize insufficient ->
          out.int8(INSUFFICIENT).list(insufficient.outputs(), ExecutionCodec::write);
      case Failed failed ->
          out.int8(FAILED)
              .constant(failed.status())
              .text(failed.message())
              .optional(failed.retryAfter(), ExecutionCodec::duration);
    }
  }

  /** Reads a result. */
  public static ExecutionResult result(Decoder in) throws WireFormatException {
    int kind = in.int8();
    return switch (kind) {
      case COMPLETED ->
          new Completed(in.list(ExecutionCodec::outputShape), timing(in), in.int64(), in.int64());
      case INSUFFICIENT -> new OutputInsufficientSize(in.list(ExecutionCodec::outputShape));
      case FAILED ->
          new Failed(
              in.constant(ErrorStatus.values()), in.text(), in.optional(ExecutionCodec::duration));
      default -> throw WireFormatException.unknown("result", kind);
    };
  }

  private static void write(Encoder out, OutputShape shape) {
    GraphCodec.writeShape(out, shape.shape());
    out.bool(shape.isSufficient());
  }

  private static OutputShape outputShape(Decoder in) throws WireFormatException {
    return new OutputShape(GraphCodec.shape(in), in.bool());
  }

  /** Writes times. */
  public static void write(Encoder out, Timing timing) {
    out.optional(timing.onDevice(), ExecutionCodec::duration);
    out.optional(timing.inDriver(), ExecutionCodec::duration);
  }

  /** Reads times. */
  public static Timing timing(Decoder in) throws WireFormatException {
    return new Timing(in.optional(ExecutionCodec::duration), in.optional(ExecutionCodec::duration));
  }
}
