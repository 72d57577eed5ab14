// SPDX-License-Identifier: Apache-2.0
package io.thalamus.oip;

import com.fasterxml.jackson.core.JsonToken;
import io.thalamus.model.Priority;
import io.thalamus.serving.Datatype;
import io.thalamus.serving.InferenceRequest;
import io.thalamus.serving.InferenceRequest.Input;
import io.thalamus.serving.InferenceRequest.Sequence;
import io.thalamus.serving.InferenceServer.SharedRegions;
import io.thalamus.serving.ServingException;
import io.thalamus.serving.protocol.RegionPart;
import io.thalamus.serving.protocol.RequestMemory;
import io.thalamus.serving.protocol.Texts;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.Collectors;

/**
 * Reads the body of a request for an inference: JSON, and behind it the values of those inputs that
 * are given as bytes, in their order. Used once, by one thread.
 */
final class RequestReader {
  /** The inputs, and the outputs, that a request may name. */
  private static final int MOST_TENSORS = 1_000;

  /** NNAPI knows no more either. */
  private static final long MOST_MICROS = Long.MAX_VALUE / 1_000;

  private final MemorySegment header;

  /** The bytes behind the header. */
  private final MemorySegment tail;

  private final RequestMemory memory;
  private final SharedRegions regions;

  private String id = "";
  private final List<Input> inputs = new ArrayList<>();
  private final List<WantedOutput> outputs = new ArrayList<>();
  private boolean hasInputs;
  private boolean hasOutputs;

  /** The bytes of the tail that inputs have taken. */
  private long taken;

  private boolean isBinary;
  private Priority priority = Priority.MEDIUM;
  private Optional<Duration> timeout = Optional.empty();
  private String sequence = "";
  private boolean isStart;
  private boolean isEnd;
  private boolean report;

  private RequestReader(
      MemorySegment header, MemorySegment tail, RequestMemory memory, SharedRegions regions) {
    this.header = header;
    this.tail = tail;
    this.memory = memory;
    this.regions = regions;
  }

  /**
   * Reads a body.
   *
   * @param headerLength the bytes of JSON; empty if all is JSON
   * @param memory for values that come as JSON; all others are parts of the body or of regions
   * @throws ServingException with INVALID_ARGUMENT and the name of the field or tensor
   */
  static ReadRequest read(
      MemorySegment body, OptionalLong headerLength, RequestMemory memory, SharedRegions regions)
      throws ServingException {
    long length = headerLength.orElse(body.byteSize());
    if (length > body.byteSize()) {
      throw ServingException.invalid(
          "Inference-Header-Content-Length is %d: expected at most the %d bytes of the body"
              .formatted(length, body.byteSize()));
    }
    RequestReader reader =
        new RequestReader(body.asSlice(0, length), body.asSlice(length), memory, regions);
    JsonCursor.readObject(reader.header, reader::field);
    return reader.end();
  }

  private ReadRequest end() throws ServingException {
    if (!hasInputs) {
      throw ServingException.invalid("inputs is missing: expected an array of objects");
    }
    if (taken != tail.byteSize()) {
      throw ServingException.invalid(
          "%d bytes follow the JSON: expected %d, as the binary_data_size of inputs say"
              .formatted(tail.byteSize(), taken));
    }
    if (sequence.isEmpty() && (isStart || isEnd)) {
      throw ServingException.invalid(
          (isStart ? "sequence_start" : "sequence_end") + " is true: expected a sequence_id too");
    }
    return new ReadRequest(
        id,
        inputs,
        outputs,
        isBinary,
        priority,
        timeout,
        sequence.isEmpty() ? Optional.empty() : Optional.of(new Sequence(sequence, isStart, isEnd)),
        report);
  }

  private void field(JsonCursor json, String key) throws IOException, ServingException {
    switch (key) {
      case "id" -> id = json.text("id");
      case "parameters" -> json.object("parameters", this::parameter);
      case "report" -> report = json.flag("report");
      case "inputs" -> {
        once("inputs", hasInputs);
        hasInputs = true;
        each(json, "inputs", this::input);
      }
      case "outputs" -> {
        once("outputs", hasOutputs);
        hasOutputs = true;
        each(json, "outputs", this::output);
      }
      default -> {
        // Of an extension that is not known here: the protocol lets servers ignore it.
      }
    }
  }

  private static void once(String field, boolean isGiven) throws ServingException {
    if (isGiven) {
      throw ServingException.invalid(field + " is given twice: expected one");
    }
  }

  /** Reads an element of an array. */
  @FunctionalInterface
  private interface ElementReader {
    void read(JsonCursor json, String what) throws IOException, ServingException;
  }

  private static void each(JsonCursor json, String what, ElementReader reader)
      throws IOException, ServingException {
    json.expect(JsonToken.START_ARRAY, what, "an array of objects");
    int count = 0;
    while (json.next() != JsonToken.END_ARRAY) {
      if (count == MOST_TENSORS) {
        throw Failures.tooLarge(what + " has more than " + MOST_TENSORS + " objects");
      }
      reader.read(json, what + "[" + count + "]");
      count++;
    }
  }

  private void parameter(JsonCursor json, String key) throws IOException, ServingException {
    switch (key) {
      case "binary_data_output" -> isBinary = json.flag("parameter binary_data_output");
      case "report" -> report = json.flag("parameter report");
      case "priority" -> priority = InferenceRequest.priority(json.natural("parameter priority"));
      case "timeout" -> {
        long micros = json.natural("parameter timeout");
        timeout =
            micros == 0
                ? Optional.empty()
                : Optional.of(Duration.ofNanos(Math.min(micros, MOST_MICROS) * 1_000));
      }
      case "sequence_id" -> sequence = sequence(json);
      case "sequence_start" -> isStart = json.flag("parameter sequence_start");
      case "sequence_end" -> isEnd = json.flag("parameter sequence_end");
      default -> {
        // As every server of the protocol: parameters that it does not know are ignored.
      }
    }
  }

  /** Returns the sequence; 0 and no text stand for none. */
  private static String sequence(JsonCursor json) throws IOException, ServingException {
    if (json.token() == JsonToken.VALUE_STRING) {
      return json.text("parameter sequence_id");
    }
    json.expect(JsonToken.VALUE_NUMBER_INT, "parameter sequence_id", "a string or a whole number");
    String digits = json.parser().getText();
    return digits.equals("0") ? "" : digits;
  }

  /** The parts of an input as they come, in any order. */
  private final class InputFields {
    private final String place;
    private Optional<String> name = Optional.empty();
    private Optional<Datatype> datatype = Optional.empty();
    private Optional<List<Long>> shape = Optional.empty();
    private Optional<MemorySegment> value = Optional.empty();

    /** The place at which the data begin, if they came before their type and shape; else -1. */
    private long deferred = -1;

    private OptionalLong binarySize = OptionalLong.empty();
    private final RegionFields region = new RegionFields();

    InputFields(String place) {
      this.place = place;
    }

    /** Returns the input for messages. */
    String what() {
      return name.map(known -> "input " + Texts.quote(known)).orElse(place);
    }

    void field(JsonCursor json, String key) throws IOException, ServingException {
      switch (key) {
        case "name" -> name = Optional.of(json.text(what() + ": name"));
        case "datatype" -> datatype = Optional.of(datatype(json));
        case "shape" -> shape = Optional.of(shape(json, what() + ": shape"));
        case "parameters" -> json.object(what() + ": parameters", this::parameter);
        case "data" -> {
          once(what() + ": data", value.isPresent() || deferred >= 0);
          data(json);
        }
        default -> {
          // Not known here.
        }
      }
    }

    private Datatype datatype(JsonCursor json) throws IOException, ServingException {
      String text = json.text(what() + ": datatype");
      Optional<Datatype> known = Datatype.named(text);
      if (known.isEmpty()) {
        throw ServingException.invalid(
            "%s: datatype is %s: expected one of %s"
                .formatted(
                    what(),
                    Texts.quote(text),
                    Arrays.stream(Datatype.values())
                        .map(Datatype::name)
                        .collect(Collectors.joining(", "))));
      }
      return known.get();
    }

    private void data(JsonCursor json) throws IOException, ServingException {
      if (name.isPresent() && datatype.isPresent() && shape.isPresent()) {
        value = Optional.of(TensorReader.read(json, what(), datatype.get(), shape.get(), memory));
      } else {
        json.expect(JsonToken.START_ARRAY, what() + ": data", "an array");
        deferred = json.offset();
        json.skipValue();
      }
    }

    private void parameter(JsonCursor json, String key) throws IOException, ServingException {
      if (key.equals("binary_data_size")) {
        binarySize = OptionalLong.of(json.natural(what() + ": binary_data_size"));
      } else {
        region.parameter(json, key, what());
      }
    }

    Input end(JsonCursor json) throws ServingException {
      String known = name.orElseThrow(() -> missing(place, "name", "a string"));
      Datatype type = datatype.orElseThrow(() -> missing(what(), "datatype", "a string"));
      List<Long> dimensions =
          shape.orElseThrow(() -> missing(what(), "shape", "an array of whole numbers"));
      TensorReader.count(what(), dimensions);
      Optional<RegionPart> part = region.end(what(), true);
      boolean hasData = value.isPresent() || deferred >= 0;
      int ways = (hasData ? 1 : 0) + (binarySize.isPresent() ? 1 : 0) + (part.isPresent() ? 1 : 0);
      if (ways != 1) {
        throw ServingException.invalid(
            what()
                + (ways == 0 ? " has no value" : " has several values")
                + ": expected one of data, binary_data_size and shared_memory_region");
      }
      if (deferred >= 0) {
        JsonCursor.read(
            json.from(deferred),
            again -> {
              again.next();
              value = Optional.of(TensorReader.read(again, what(), type, dimensions, memory));
            });
      } else if (part.isPresent()) {
        RegionPart from = part.get();
        value = Optional.of(regions.segment(from.name(), from.offset(), from.byteSize()));
      } else if (binarySize.isPresent()) {
        value = Optional.of(take(what(), binarySize.getAsLong()));
      }
      return new Input(known, type, dimensions, value.orElseThrow());
    }
  }

  private static ServingException missing(String what, String field, String expected) {
    return ServingException.invalid(what + ": " + field + " is missing: expected " + expected);
  }

  private MemorySegment take(String what, long size) throws ServingException {
    if (size > tail.byteSize() - taken) {
      throw ServingException.invalid(
          "%s: binary_data_size is %d: expected at most the %d bytes that are left of the body"
              .formatted(what, size, tail.byteSize() - taken));
    }
    MemorySegment value = tail.asSlice(taken, size);
    taken += size;
    return value;
  }

  private void input(JsonCursor json, String place) throws IOException, ServingException {
    InputFields fields = new InputFields(place);
    json.object(place, fields::field);
    inputs.add(fields.end(json));
  }

  private static List<Long> shape(JsonCursor json, String what)
      throws IOException, ServingException {
    json.expect(JsonToken.START_ARRAY, what, "an array of whole numbers");
    List<Long> shape = new ArrayList<>();
    while (json.next() != JsonToken.END_ARRAY) {
      if (shape.size() == JsonCursor.DEEPEST) {
        throw Failures.tooLarge(what + " has more than " + JsonCursor.DEEPEST + " dimensions");
      }
      shape.add(json.natural(what + "[" + shape.size() + "]"));
    }
    return shape;
  }

  /** The parameters that name a part of a region. */
  private static final class RegionFields {
    private Optional<String> region = Optional.empty();
    private OptionalLong offset = OptionalLong.empty();
    private OptionalLong byteSize = OptionalLong.empty();

    void parameter(JsonCursor json, String key, String what) throws IOException, ServingException {
      switch (key) {
        case "shared_memory_region" ->
            region = Optional.of(json.text(what + ": shared_memory_region"));
        case "shared_memory_offset" ->
            offset = OptionalLong.of(json.natural(what + ": shared_memory_offset"));
        case "shared_memory_byte_size" ->
            byteSize = OptionalLong.of(json.natural(what + ": shared_memory_byte_size"));
        default -> {
          // Not known here.
        }
      }
    }

    Optional<RegionPart> end(String what, boolean isInput) throws ServingException {
      if (region.isEmpty()) {
        if (offset.isPresent() || byteSize.isPresent()) {
          throw missing(what, "shared_memory_region", "the name of a registered region");
        }
        return Optional.empty();
      }
      if (byteSize.isEmpty()) {
        throw missing(
            what,
            "shared_memory_byte_size",
            isInput ? "the bytes of the value" : "the bytes that the value may have");
      }
      return Optional.of(new RegionPart(region.get(), offset.orElse(0), byteSize.getAsLong()));
    }
  }

  /** The parts of a wanted output as they come, in any order. */
  private static final class OutputFields {
    private final String place;
    private Optional<String> name = Optional.empty();
    private Optional<Boolean> isBinary = Optional.empty();
    private long classes;
    private final RegionFields region = new RegionFields();

    OutputFields(String place) {
      this.place = place;
    }

    String what() {
      return name.map(known -> "output " + Texts.quote(known)).orElse(place);
    }

    void field(JsonCursor json, String key) throws IOException, ServingException {
      switch (key) {
        case "name" -> name = Optional.of(json.text(what() + ": name"));
        case "parameters" -> json.object(what() + ": parameters", this::parameter);
        default -> {
          // Not known here.
        }
      }
    }

    private void parameter(JsonCursor json, String key) throws IOException, ServingException {
      switch (key) {
        case "binary_data" -> isBinary = Optional.of(json.flag(what() + ": binary_data"));
        case "classification" -> classes = json.natural(what() + ": classification");
        default -> region.parameter(json, key, what());
      }
    }

    WantedOutput end() throws ServingException {
      String known = name.orElseThrow(() -> missing(place, "name", "a string"));
      Optional<RegionPart> part = region.end(what(), false);
      if (part.isPresent() && classes > 0) {
        throw ServingException.invalid(
            what() + " has classification and shared_memory_region: expected one");
      }
      return new WantedOutput(known, isBinary, part, classes);
    }
  }

  private void output(JsonCursor json, String place) throws IOException, ServingException {
    OutputFields fields = new OutputFields(place);
    json.object(place, fields::field);
    outputs.add(fields.end());
  }
}
