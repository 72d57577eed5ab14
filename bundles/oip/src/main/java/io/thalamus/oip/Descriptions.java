// SPDX-License-Identifier: Apache-2.0
package io.thalamus.oip;

import com.fasterxml.jackson.core.JsonGenerator;
import io.thalamus.model.Quantization;
import io.thalamus.serving.Datatype;
import io.thalamus.serving.IndexEntry;
import io.thalamus.serving.InferenceServer.Region;
import io.thalamus.serving.ModelMetadata;
import io.thalamus.serving.ModelStatistics;
import io.thalamus.serving.ModelStatistics.Total;
import io.thalamus.serving.ServerMetadata;
import io.thalamus.serving.TensorMetadata;
import java.io.IOException;
import java.util.List;

/** The JSON of what is said of the server, its models and regions. */
final class Descriptions {
  private Descriptions() {}

  static void server(JsonGenerator json, ServerMetadata server) throws IOException {
    json.writeStartObject();
    json.writeStringField("name", server.name());
    json.writeStringField("version", server.version());
    array(json, "extensions", server.extensions(), json::writeString);
    json.writeEndObject();
  }

  /** Writes one of a list. */
  @FunctionalInterface
  private interface Writer<T> {
    void write(T each) throws IOException;
  }

  private static <T> void array(JsonGenerator json, String field, List<T> all, Writer<T> writer)
      throws IOException {
    json.writeArrayFieldStart(field);
    for (T each : all) {
      writer.write(each);
    }
    json.writeEndArray();
  }

  static void model(JsonGenerator json, ModelMetadata model) throws IOException {
    json.writeStartObject();
    json.writeStringField("name", model.name());
    array(json, "versions", model.versions(), json::writeString);
    json.writeStringField("platform", model.platform());
    json.writeObjectFieldStart("parameters");
    json.writeStringField("version", model.version());
    json.writeStringField("digest", model.digest());
    json.writeEndObject();
    tensors(json, "inputs", model.inputs());
    tensors(json, "outputs", model.outputs());
    json.writeEndObject();
  }

  private static void tensors(JsonGenerator json, String field, List<TensorMetadata> tensors)
      throws IOException {
    json.writeArrayFieldStart(field);
    for (TensorMetadata tensor : tensors) {
      json.writeStartObject();
      json.writeStringField("name", tensor.name());
      json.writeStringField("datatype", tensor.datatype().name());
      array(json, "shape", tensor.shape(), json::writeNumber);
      quantization(json, tensor.quantization());
      json.writeEndObject();
    }
    json.writeEndArray();
  }

  private static void quantization(JsonGenerator json, Quantization quantization)
      throws IOException {
    switch (quantization) {
      case Quantization.None none -> {
        // The values are what they are.
      }
      case Quantization.PerTensor(float scale, int zeroPoint) -> {
        json.writeObjectFieldStart("parameters");
        json.writeNumberField("scale", scale);
        json.writeNumberField("zero_point", zeroPoint);
        json.writeEndObject();
      }
      case Quantization.PerChannel(int dimension, float[] scales) -> {
        json.writeObjectFieldStart("parameters");
        json.writeArrayFieldStart("scale");
        for (float scale : scales) {
          json.writeNumber(scale);
        }
        json.writeEndArray();
        json.writeNumberField("zero_point", 0);
        json.writeNumberField("channel_dimension", dimension);
        json.writeEndObject();
      }
    }
  }

  /** Writes what Triton's configuration of a model has here. */
  static void config(JsonGenerator json, ModelMetadata model) throws IOException {
    json.writeStartObject();
    json.writeStringField("name", model.name());
    json.writeStringField("platform", model.platform());
    json.writeStringField("backend", "thalamus");
    json.writeNumberField("max_batch_size", 0);
    configTensors(json, "input", model.inputs());
    configTensors(json, "output", model.outputs());
    json.writeEndObject();
  }

  private static void configTensors(JsonGenerator json, String field, List<TensorMetadata> tensors)
      throws IOException {
    json.writeArrayFieldStart(field);
    for (TensorMetadata tensor : tensors) {
      json.writeStartObject();
      json.writeStringField("name", tensor.name());
      Datatype datatype = tensor.datatype();
      json.writeStringField(
          "data_type", "TYPE_" + (datatype == Datatype.BYTES ? "STRING" : datatype.name()));
      array(json, "dims", tensor.shape(), json::writeNumber);
      json.writeEndObject();
    }
    json.writeEndArray();
  }

  static void statistics(JsonGenerator json, List<ModelStatistics> models) throws IOException {
    json.writeStartObject();
    json.writeArrayFieldStart("model_stats");
    for (ModelStatistics each : models) {
      json.writeStartObject();
      json.writeStringField("name", each.name());
      json.writeStringField("version", each.version());
      json.writeNumberField("last_inference", each.lastInference());
      json.writeNumberField("inference_count", each.inferenceCount());
      json.writeNumberField("execution_count", each.executionCount());
      json.writeNumberField("pending_count", each.pending());
      json.writeObjectFieldStart("inference_stats");
      total(json, "success", each.success());
      total(json, "fail", each.fail());
      total(json, "queue", each.queue());
      total(json, "compute_input", each.computeInput());
      total(json, "compute_infer", each.computeInfer());
      total(json, "compute_output", each.computeOutput());
      total(json, "cancel", each.cancelled());
      // Answers are never kept for later.
      total(json, "cache_hit", new Total(0, 0));
      total(json, "cache_miss", new Total(0, 0));
      json.writeEndObject();
      // Of answers in parts, joint rows and other processors' memory, which are not counted.
      json.writeObjectFieldStart("response_stats");
      json.writeEndObject();
      json.writeArrayFieldStart("batch_stats");
      json.writeEndArray();
      json.writeArrayFieldStart("memory_usage");
      json.writeEndArray();
      json.writeEndObject();
    }
    json.writeEndArray();
    json.writeEndObject();
  }

  private static void total(JsonGenerator json, String field, Total total) throws IOException {
    json.writeObjectFieldStart(field);
    json.writeNumberField("count", total.count());
    json.writeNumberField("ns", total.nanos());
    json.writeEndObject();
  }

  static void index(JsonGenerator json, List<IndexEntry> entries) throws IOException {
    json.writeStartArray();
    for (IndexEntry entry : entries) {
      json.writeStartObject();
      json.writeStringField("name", entry.name());
      json.writeStringField("version", entry.version());
      json.writeStringField("state", entry.state().name());
      json.writeStringField("reason", entry.reason());
      json.writeStringField("digest", entry.digest());
      json.writeEndObject();
    }
    json.writeEndArray();
  }

  static void regions(JsonGenerator json, List<Region> regions) throws IOException {
    json.writeStartArray();
    for (Region region : regions) {
      json.writeStartObject();
      json.writeStringField("name", region.name());
      json.writeStringField("key", region.key());
      json.writeNumberField("offset", region.offset());
      json.writeNumberField("byte_size", region.byteSize());
      json.writeEndObject();
    }
    json.writeEndArray();
  }
}
