// SPDX-License-Identifier: Apache-2.0
package io.thalamus.oip;

import com.fasterxml.jackson.core.JsonGenerator;
import io.thalamus.http.HttpExchange;
import io.thalamus.serving.InferenceResponse;
import io.thalamus.serving.InferenceResponse.Output;
import io.thalamus.serving.RequestTimes;
import io.thalamus.serving.ServingException;
import io.thalamus.serving.protocol.RegionPart;
import io.thalamus.serving.protocol.Texts;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** The answer to a request for an inference: JSON, and behind it the values given as bytes. */
final class ReplyWriter {
  private final ReadRequest request;
  private final InferenceResponse response;
  private final List<MemorySegment> values = new ArrayList<>();

  ReplyWriter(ReadRequest request, InferenceResponse response) {
    this.request = request;
    this.response = response;
  }

  /** Answers. */
  void send(HttpExchange exchange) throws ServingException {
    byte[] header = header();
    Map<String, String> headers = new HashMap<>();
    List<MemorySegment> parts = new ArrayList<>();
    parts.add(MemorySegment.ofArray(header));
    if (values.isEmpty()) {
      headers.put("Content-Type", "application/json");
    } else {
      headers.put("Content-Type", "application/octet-stream");
      headers.put("Inference-Header-Content-Length", Integer.toString(header.length));
      parts.addAll(values);
    }
    Optional<Coding> coding = Coding.accepted(exchange.headers());
    if (coding.isPresent()) {
      headers.put("Content-Encoding", coding.get().header());
      parts = List.of(coding.get().encode(parts));
    }
    exchange.send(200, headers, parts);
  }

  private byte[] header() throws ServingException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(512);
    try (JsonGenerator json = JsonCursor.FACTORY.createGenerator(bytes)) {
      json.writeStartObject();
      json.writeStringField("model_name", response.model());
      json.writeStringField("model_version", response.version());
      if (!response.id().isEmpty()) {
        json.writeStringField("id", response.id());
      }
      if (request.report()) {
        writeReport(json);
      }
      json.writeArrayFieldStart("outputs");
      for (Output output : response.outputs()) {
        writeOutput(json, output);
      }
      json.writeEndArray();
      json.writeEndObject();
    } catch (IOException e) {
      throw new UncheckedIOException("memory cannot be written", e);
    }
    return bytes.toByteArray();
  }

  /** Writes what ran where. */
  private void writeReport(JsonGenerator json) throws IOException {
    RequestTimes times = response.times();
    long compute = times.computeInput() + times.computeInfer() + times.computeOutput();
    json.writeObjectFieldStart("parameters");
    json.writeStringField("ran_on", response.ranOn());
    json.writeNumberField("attempts", response.attempts());
    json.writeNumberField("queue_us", TimeUnit.NANOSECONDS.toMicros(times.queue()));
    json.writeNumberField("compute_us", TimeUnit.NANOSECONDS.toMicros(compute));
    writeMicros(json, "driver_us", response.inDriver());
    writeMicros(json, "hardware_us", response.onHardware());
    json.writeEndObject();
  }

  private static void writeMicros(JsonGenerator json, String name, Optional<Duration> time)
      throws IOException {
    if (time.isPresent()) {
      json.writeNumberField(name, TimeUnit.NANOSECONDS.toMicros(time.get().toNanos()));
    }
  }

  private void writeOutput(JsonGenerator json, Output output) throws IOException, ServingException {
    String name = output.metadata().name();
    json.writeStartObject();
    json.writeStringField("name", name);
    json.writeStringField("datatype", output.metadata().datatype().name());
    json.writeArrayFieldStart("shape");
    for (long dimension : output.shape()) {
      json.writeNumber(dimension);
    }
    json.writeEndArray();
    Optional<RegionPart> region = request.region(name);
    if (region.isPresent()) {
      json.writeObjectFieldStart("parameters");
      json.writeStringField("shared_memory_region", region.get().name());
      json.writeNumberField("shared_memory_offset", region.get().offset());
      json.writeNumberField("shared_memory_byte_size", output.value().byteSize());
      json.writeEndObject();
    } else if (request.isBinary(name)) {
      json.writeObjectFieldStart("parameters");
      json.writeNumberField("binary_data_size", output.value().byteSize());
      json.writeEndObject();
      values.add(output.value());
    } else {
      json.writeFieldName("data");
      TensorWriter.write(
          json, "output " + Texts.quote(name), output.metadata().datatype(), output.value());
    }
    json.writeEndObject();
  }
}
