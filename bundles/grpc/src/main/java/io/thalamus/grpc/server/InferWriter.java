// SPDX-License-Identifier: Apache-2.0
package io.thalamus.grpc.server;

import io.thalamus.grpc.wire.MessageWriter;
import io.thalamus.grpc.wire.Reply;
import io.thalamus.serving.InferenceResponse;
import io.thalamus.serving.InferenceResponse.Output;
import io.thalamus.serving.RequestTimes;
import io.thalamus.serving.protocol.RegionPart;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Writes messages {@code ModelInferResponse}. The values are sent from where they are. */
final class InferWriter {
  private static final int RAW_CONTENTS = 6;

  private InferWriter() {}

  static Reply reply(ReadInfer request, InferenceResponse response) {
    return new Reply(parts(request, response, new MessageWriter()));
  }

  /** Returns the message as an element of a stream, which Triton's clients look for the last of. */
  static Reply element(ReadInfer request, InferenceResponse response) {
    MessageWriter isLast = new MessageWriter().flag(1, true);
    List<MemorySegment> parts =
        parts(request, response, new MessageWriter().entry(4, "triton_final_response", isLast));
    long size = parts.stream().mapToLong(MemorySegment::byteSize).sum();
    parts.addFirst(MemorySegment.ofArray(new MessageWriter().length(2, size).toBytes()));
    return new Reply(parts);
  }

  private static List<MemorySegment> parts(
      ReadInfer request, InferenceResponse response, MessageWriter head) {
    head.text(1, response.model()).text(2, response.version()).text(3, response.id());
    if (request.report()) {
      RequestTimes times = response.times();
      long compute = times.computeInput() + times.computeInfer() + times.computeOutput();
      text(head, "ran_on", response.ranOn());
      number(head, "attempts", response.attempts());
      number(head, "queue_us", TimeUnit.NANOSECONDS.toMicros(times.queue()));
      number(head, "compute_us", TimeUnit.NANOSECONDS.toMicros(compute));
      response.inDriver().ifPresent(time -> number(head, "driver_us", micros(time)));
      response.onHardware().ifPresent(time -> number(head, "hardware_us", micros(time)));
    }
    List<Output> raw = new ArrayList<>();
    for (Output output : response.outputs()) {
      MessageWriter tensor =
          new MessageWriter()
              .text(1, output.metadata().name())
              .text(2, output.metadata().datatype().name())
              .integers(3, output.shape());
      RegionPart region = request.regions().get(output.metadata().name());
      if (region == null) {
        raw.add(output);
      } else {
        text(tensor, "shared_memory_region", region.name());
        number(tensor, "shared_memory_offset", region.offset());
        number(tensor, "shared_memory_byte_size", output.value().byteSize());
      }
      head.message(5, tensor);
    }
    List<MemorySegment> parts = new ArrayList<>();
    MessageWriter before = head;
    for (Output output : raw) {
      before.length(RAW_CONTENTS, output.value().byteSize());
      parts.add(MemorySegment.ofArray(before.toBytes()));
      parts.add(output.value());
      before = new MessageWriter();
    }
    if (raw.isEmpty()) {
      parts.add(MemorySegment.ofArray(head.toBytes()));
    }
    return parts;
  }

  private static long micros(Duration time) {
    return TimeUnit.NANOSECONDS.toMicros(time.toNanos());
  }

  private static void text(MessageWriter message, String name, String value) {
    byte[] bytes = value.getBytes(StandardCharsets.UTF_8);
    message.entry(4, name, new MessageWriter().bytes(3, bytes));
  }

  private static void number(MessageWriter message, String name, long value) {
    message.entry(4, name, new MessageWriter().present(2, value));
  }
}
