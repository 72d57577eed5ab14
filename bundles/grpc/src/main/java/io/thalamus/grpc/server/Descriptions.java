// SPDX-License-Identifier: Apache-2.0
package io.thalamus.grpc.server;

import io.thalamus.grpc.wire.MessageReader;
import io.thalamus.grpc.wire.MessageWriter;
import io.thalamus.serving.Datatype;
import io.thalamus.serving.Failure;
import io.thalamus.serving.IndexEntry;
import io.thalamus.serving.InferenceServer;
import io.thalamus.serving.ModelMetadata;
import io.thalamus.serving.ModelState;
import io.thalamus.serving.ModelStatistics;
import io.thalamus.serving.ModelStatistics.Total;
import io.thalamus.serving.ServerMetadata;
import io.thalamus.serving.ServingException;
import io.thalamus.serving.TensorMetadata;
import io.thalamus.serving.protocol.Texts;
import java.io.IOException;
import java.util.List;
import java.util.Optional;

/** The calls that only look. Thread-safe. */
final class Descriptions {
  private static final int LENGTH = MessageReader.LENGTH;

  // Of grpc.health.v1.HealthCheckResponse.ServingStatus.
  private static final int SERVING = 1;
  private static final int NOT_SERVING = 2;
  private static final int UNKNOWN_SERVICE = 3;

  private final InferenceServer server;

  Descriptions(InferenceServer server) {
    this.server = server;
  }

  /** A model and a version, as many messages name them. */
  private record Named(String model, Optional<String> version) {
    static Named read(MessageReader in) throws IOException {
      String model = "";
      String version = "";
      for (int tag = in.next(); tag != 0; tag = in.next()) {
        switch (tag) {
          case 1 << 3 | LENGTH -> model = in.text();
          case 2 << 3 | LENGTH -> version = in.text();
          default -> in.skip(tag);
        }
      }
      return new Named(model, version.isEmpty() ? Optional.empty() : Optional.of(version));
    }
  }

  private static void end(MessageReader in) throws IOException {
    for (int tag = in.next(); tag != 0; tag = in.next()) {
      in.skip(tag);
    }
  }

  MessageWriter live(MessageReader in) throws IOException {
    end(in);
    return new MessageWriter().flag(1, server.isLive());
  }

  MessageWriter ready(MessageReader in) throws IOException {
    end(in);
    return new MessageWriter().flag(1, server.isReady());
  }

  MessageWriter modelReady(MessageReader in) throws IOException, ServingException {
    Named named = Named.read(in);
    boolean isReady;
    try {
      isReady = server.isReady(named.model(), named.version());
    } catch (ServingException e) {
      if (e.failure() != Failure.NOT_FOUND) {
        throw e;
      }
      // Clients ask until a model comes: as with Triton, one that is not here is not ready.
      isReady = false;
    }
    return new MessageWriter().flag(1, isReady);
  }

  /** Answers {@code Check} of gRPC's own health protocol. */
  MessageWriter health(MessageReader in) throws IOException, ServingException {
    String service = in.onlyText();
    if (!isService(service)) {
      throw new ServingException(
          Failure.NOT_FOUND,
          "there is no service " + Texts.quote(service) + ": expected " + Calls.SERVICE);
    }
    return new MessageWriter().integer(1, health(service));
  }

  private static boolean isService(String name) {
    return name.isEmpty() || name.equals(Calls.SERVICE);
  }

  /** Returns the health of a service as a number of the health protocol. */
  int health(String service) {
    return !isService(service) ? UNKNOWN_SERVICE : server.isReady() ? SERVING : NOT_SERVING;
  }

  MessageWriter server(MessageReader in) throws IOException {
    end(in);
    ServerMetadata metadata = server.metadata();
    return new MessageWriter()
        .text(1, metadata.name())
        .text(2, metadata.version())
        .texts(3, metadata.extensions());
  }

  MessageWriter model(MessageReader in) throws IOException, ServingException {
    Named named = Named.read(in);
    ModelMetadata model = server.metadata(named.model(), named.version());
    MessageWriter reply =
        new MessageWriter()
            .text(1, model.name())
            .texts(2, model.versions())
            .text(3, model.platform());
    model.inputs().forEach(tensor -> reply.message(4, tensor(tensor)));
    model.outputs().forEach(tensor -> reply.message(5, tensor(tensor)));
    return reply;
  }

  private static MessageWriter tensor(TensorMetadata tensor) {
    return new MessageWriter()
        .text(1, tensor.name())
        .text(2, tensor.datatype().name())
        .integers(3, tensor.shape());
  }

  MessageWriter config(MessageReader in) throws IOException, ServingException {
    Named named = Named.read(in);
    ModelMetadata model = server.metadata(named.model(), named.version());
    MessageWriter config = new MessageWriter().text(1, model.name()).text(2, model.platform());
    model.inputs().forEach(tensor -> config.message(5, tensor(tensor, 4)));
    model.outputs().forEach(tensor -> config.message(6, tensor(tensor, 3)));
    return new MessageWriter().message(1, config.text(17, "thalamus"));
  }

  /** Returns what a model configuration says of a tensor: its dimensions stand in this field. */
  private static MessageWriter tensor(TensorMetadata tensor, int dimensions) {
    return new MessageWriter()
        .text(1, tensor.name())
        .integer(2, type(tensor.datatype()))
        .integers(dimensions, tensor.shape());
  }

  /** Returns the number that model configurations have for a datatype. */
  private static int type(Datatype datatype) {
    return switch (datatype) {
      case BOOL -> 1;
      case UINT8 -> 2;
      case UINT16 -> 3;
      case UINT32 -> 4;
      case UINT64 -> 5;
      case INT8 -> 6;
      case INT16 -> 7;
      case INT32 -> 8;
      case INT64 -> 9;
      case FP16 -> 10;
      case FP32 -> 11;
      case FP64 -> 12;
      case BYTES -> 13;
      case BF16 -> 14;
    };
  }

  MessageWriter statistics(MessageReader in) throws IOException, ServingException {
    Named named = Named.read(in);
    Optional<String> model =
        named.model().isEmpty() ? Optional.empty() : Optional.of(named.model());
    MessageWriter reply = new MessageWriter();
    for (ModelStatistics each : server.statistics(model, named.version())) {
      MessageWriter times =
          new MessageWriter()
              .message(1, total(each.success()))
              .message(2, total(each.fail()))
              .message(3, total(each.queue()))
              .message(4, total(each.computeInput()))
              .message(5, total(each.computeInfer()))
              .message(6, total(each.computeOutput()));
      reply.message(
          1,
          new MessageWriter()
              .text(1, each.name())
              .text(2, each.version())
              .integer(3, each.lastInference())
              .integer(4, each.inferenceCount())
              .integer(5, each.executionCount())
              .message(6, times));
    }
    return reply;
  }

  private static MessageWriter total(Total total) {
    return new MessageWriter().integer(1, total.count()).integer(2, total.nanos());
  }

  MessageWriter index(MessageReader in) throws IOException {
    boolean onlyReady = false;
    for (int tag = in.next(); tag != 0; tag = in.next()) {
      if (tag == (2 << 3 | MessageReader.VARINT)) {
        onlyReady = in.varint() != 0;
      } else {
        in.skip(tag);
      }
    }
    MessageWriter reply = new MessageWriter();
    List<IndexEntry> entries = server.index();
    for (IndexEntry entry : entries) {
      if (!onlyReady || entry.state() == ModelState.READY) {
        reply.message(
            1,
            new MessageWriter()
                .text(1, entry.name())
                .text(2, entry.version())
                .text(3, entry.state().name())
                .text(4, entry.reason()));
      }
    }
    return reply;
  }
}
