// SPDX-License-Identifier: Apache-2.0
package io.thalamus.grpc.server;

import io.thalamus.grpc.wire.MessageReader;
import io.thalamus.model.Priority;
import io.thalamus.serving.Datatype;
import io.thalamus.serving.Failure;
import io.thalamus.serving.InferenceRequest;
import io.thalamus.serving.InferenceRequest.Input;
import io.thalamus.serving.InferenceRequest.Sequence;
import io.thalamus.serving.InferenceServer.SharedRegions;
import io.thalamus.serving.ServingException;
import io.thalamus.serving.protocol.RegionPart;
import io.thalamus.serving.protocol.RequestMemory;
import io.thalamus.serving.protocol.Texts;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Reads a message {@code ModelInferRequest}. Of one thread, for one message. */
final class InferReader {
  private static final int MOST_TENSORS = 1_024;
  private static final int MOST_DIMENSIONS = 64;

  /** The longest timeout that fits into a Duration of nanoseconds. */
  private static final long MOST_MICROS = Long.MAX_VALUE / 1_000;

  private static final int LENGTH = MessageReader.LENGTH;

  private final MessageReader in;
  private final RequestMemory memory;
  private final SharedRegions shared;

  private String model = "";
  private String version = "";
  private String id = "";
  private final List<Tensor> tensors = new ArrayList<>();
  private final List<MemorySegment> raw = new ArrayList<>();
  private final List<String> outputs = new ArrayList<>();
  private final Map<String, RegionPart> regions = new HashMap<>();
  private final Map<String, Long> classes = new HashMap<>();
  private Priority priority = Priority.MEDIUM;
  private Optional<Duration> timeout = Optional.empty();
  private String sequence = "";
  private boolean isStart;
  private boolean isEnd;
  private boolean report;

  private InferReader(MessageReader in, RequestMemory memory, SharedRegions shared) {
    this.in = in;
    this.memory = memory;
    this.shared = shared;
  }

  /**
   * Reads a message to its end. The lent bytes stand in the memory.
   *
   * @throws ServingException with INVALID_ARGUMENT, or if there is no memory
   */
  static ReadInfer read(InputStream message, RequestMemory memory, SharedRegions shared)
      throws ServingException {
    InferReader reader = new InferReader(new MessageReader(message), memory, shared);
    try {
      reader.fields();
    } catch (IOException e) {
      throw Failures.unreadable(e);
    }
    return reader.end();
  }

  /** Takes a parameter of a request, input or output. */
  @FunctionalInterface
  private interface ParameterUse {
    void take(Parameter parameter) throws ServingException;
  }

  /** An input, whose value may stand elsewhere in the message. */
  private final class Tensor implements ParameterUse {
    private String name = "";
    private String datatype = "";
    private final List<Long> shape = new ArrayList<>();
    private final Contents contents = new Contents(memory);
    private final RegionFields region = new RegionFields();

    @Override
    public void take(Parameter parameter) throws ServingException {
      region.take(parameter);
    }

    private String what() {
      return "input " + Texts.quote(name);
    }

    private void dimension(long value) throws ServingException {
      if (shape.size() == MOST_DIMENSIONS) {
        throw ServingException.invalid(
            what() + " has more than " + MOST_DIMENSIONS + " dimensions");
      }
      if (value < 0) {
        throw ServingException.invalid(
            what() + " has a dimension of " + value + ": expected at least 0");
      }
      shape.add(value);
    }
  }

  /** The parameters that say where in shared memory a value is. */
  private static final class RegionFields {
    private Optional<String> name = Optional.empty();
    private long offset;
    private long byteSize = -1;

    void take(Parameter parameter) throws ServingException {
      switch (parameter.name()) {
        case "shared_memory_region" -> name = Optional.of(parameter.text());
        case "shared_memory_offset" -> offset = parameter.natural();
        case "shared_memory_byte_size" -> byteSize = parameter.natural();
        default -> {
          // As every server of the protocol: parameters that it does not know are ignored.
        }
      }
    }

    Optional<RegionPart> region(String what) throws ServingException {
      if (name.isPresent() && byteSize < 0) {
        throw ServingException.invalid(
            what + " has shared_memory_region: expected shared_memory_byte_size too");
      }
      return name.map(text -> new RegionPart(text, offset, byteSize));
    }
  }

  private void fields() throws IOException, ServingException {
    for (int tag = in.next(); tag != 0; tag = in.next()) {
      switch (tag) {
        case 1 << 3 | LENGTH -> model = in.text();
        case 2 << 3 | LENGTH -> version = in.text();
        case 3 << 3 | LENGTH -> id = in.text();
        case 4 << 3 | LENGTH -> parameter(Parameter.read(in));
        case 5 << 3 | LENGTH -> input();
        case 6 << 3 | LENGTH -> output();
        case 7 << 3 | LENGTH -> rawContents();
        default -> in.skip(tag);
      }
    }
  }

  private void parameter(Parameter parameter) throws ServingException {
    switch (parameter.name()) {
      case "priority" -> priority = InferenceRequest.priority(parameter.natural());
      case "timeout" -> {
        long micros = parameter.natural();
        timeout =
            micros == 0
                ? Optional.empty()
                : Optional.of(Duration.ofNanos(Math.min(micros, MOST_MICROS) * 1_000));
      }
      case "sequence_id" -> {
        if (!(parameter.value() instanceof String) && !(parameter.value() instanceof Long)) {
          throw parameter.wrong("a string_param or an int64_param");
        }
        String text = parameter.value().toString();
        // Clients that have no sequence send none as 0.
        sequence = text.equals("0") ? "" : text;
      }
      case "sequence_start" -> isStart = parameter.flag();
      case "sequence_end" -> isEnd = parameter.flag();
      case "report" -> report = parameter.flag();
      default -> {
        // As above.
      }
    }
  }

  private static void bound(String what, int count) throws ServingException {
    if (count == MOST_TENSORS) {
      throw new ServingException(
          Failure.TOO_LARGE, "the message has more than " + MOST_TENSORS + " " + what);
    }
  }

  private void input() throws IOException, ServingException {
    bound("inputs", tensors.size());
    Tensor tensor = new Tensor();
    tensors.add(tensor);
    long outer = in.enter();
    for (int tag = in.next(); tag != 0; tag = in.next()) {
      switch (tag) {
        case 1 << 3 | LENGTH -> tensor.name = in.text();
        case 2 << 3 | LENGTH -> tensor.datatype = in.text();
        case 3 << 3 | MessageReader.VARINT -> tensor.dimension(in.varint());
        case 3 << 3 | LENGTH -> {
          long around = in.enter();
          while (in.hasMore()) {
            tensor.dimension(in.varint());
          }
          in.leave(around);
        }
        case 4 << 3 | LENGTH -> tensor.take(Parameter.read(in));
        case 5 << 3 | LENGTH -> tensor.contents.read(in);
        default -> in.skip(tag);
      }
    }
    in.leave(outer);
  }

  private void output() throws IOException, ServingException {
    bound("outputs", outputs.size());
    String name = "";
    long count = 0;
    RegionFields region = new RegionFields();
    long outer = in.enter();
    for (int tag = in.next(); tag != 0; tag = in.next()) {
      switch (tag) {
        case 1 << 3 | LENGTH -> name = in.text();
        case 2 << 3 | LENGTH -> {
          Parameter parameter = Parameter.read(in);
          if (parameter.name().equals("classification")) {
            count = parameter.natural();
          } else {
            region.take(parameter);
          }
        }
        default -> in.skip(tag);
      }
    }
    in.leave(outer);
    outputs.add(name);
    if (count > 0) {
      classes.put(name, count);
    }
    Optional<RegionPart> place = region.region("output " + Texts.quote(name));
    if (place.isPresent() && count > 0) {
      throw ServingException.invalid(
          "output %s has classification and shared_memory_region: expected one"
              .formatted(Texts.quote(name)));
    }
    if (place.isPresent()) {
      regions.put(name, place.get());
    }
  }

  private void rawContents() throws IOException, ServingException {
    bound("raw_input_contents", raw.size());
    long length = in.length();
    MemorySegment value = memory.allocate("raw_input_contents", length);
    in.bytes(value);
    raw.add(value);
  }

  private ReadInfer end() throws ServingException {
    if (model.isEmpty()) {
      throw ServingException.invalid("model_name is missing");
    }
    if (sequence.isEmpty() && (isStart || isEnd)) {
      throw ServingException.invalid(
          (isStart ? "sequence_start" : "sequence_end") + " is true: expected a sequence_id too");
    }
    return new ReadInfer(
        model,
        version.isEmpty() ? Optional.empty() : Optional.of(version),
        id,
        inputs(),
        outputs,
        regions,
        classes,
        priority,
        timeout,
        sequence.isEmpty() ? Optional.empty() : Optional.of(new Sequence(sequence, isStart, isEnd)),
        report);
  }

  /** Returns the inputs with their values: raw ones go in order to those that have no other. */
  private List<Input> inputs() throws ServingException {
    List<Input> inputs = new ArrayList<>();
    int taken = 0;
    for (Tensor tensor : tensors) {
      Datatype datatype =
          Datatype.named(tensor.datatype)
              .orElseThrow(
                  () ->
                      ServingException.invalid(
                          "%s has datatype %s: expected one of the protocol, as FP32"
                              .formatted(tensor.what(), Texts.quote(tensor.datatype))));
      Optional<RegionPart> region = tensor.region.region(tensor.what());
      MemorySegment value;
      if (region.isPresent()) {
        value = shared.segment(region.get().name(), region.get().offset(), region.get().byteSize());
      } else if (!tensor.contents.isEmpty()) {
        if (!raw.isEmpty()) {
          throw ServingException.invalid(
              tensor.what() + " has contents and the message raw_input_contents: expected one");
        }
        value = tensor.contents.value(tensor.name, datatype);
      } else if (taken < raw.size()) {
        value = raw.get(taken++);
      } else {
        // Of no elements, as its shape must say then.
        value = MemorySegment.ofArray(new byte[0]);
      }
      inputs.add(new Input(tensor.name, datatype, tensor.shape, value));
    }
    if (taken < raw.size()) {
      throw ServingException.invalid(
          "the message has %d raw_input_contents: expected %d, one for each input without another value"
              .formatted(raw.size(), taken));
    }
    return inputs;
  }
}
