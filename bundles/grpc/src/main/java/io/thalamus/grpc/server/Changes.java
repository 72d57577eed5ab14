// SPDX-License-Identifier: Apache-2.0
package io.thalamus.grpc.server;

import io.thalamus.grpc.wire.MessageReader;
import io.thalamus.grpc.wire.MessageWriter;
import io.thalamus.serving.Failure;
import io.thalamus.serving.InferenceServer;
import io.thalamus.serving.InferenceServer.Region;
import io.thalamus.serving.ServingException;
import io.thalamus.serving.protocol.Texts;
import java.io.IOException;

/** The calls that change what is served, and those about shared memory. Thread-safe. */
final class Changes {
  private static final int LENGTH = MessageReader.LENGTH;
  private static final int VARINT = MessageReader.VARINT;

  private final InferenceServer server;

  Changes(InferenceServer server) {
    this.server = server;
  }

  MessageWriter load(MessageReader in) throws IOException, ServingException {
    server.load(model(in));
    return new MessageWriter();
  }

  MessageWriter unload(MessageReader in) throws IOException, ServingException {
    server.unload(model(in));
    return new MessageWriter();
  }

  private static String model(MessageReader in) throws IOException, ServingException {
    String model = "";
    for (int tag = in.next(); tag != 0; tag = in.next()) {
      switch (tag) {
        case 2 << 3 | LENGTH -> model = in.text();
        case 3 << 3 | LENGTH -> refuseFiles(Parameter.read(in));
        default -> in.skip(tag);
      }
    }
    if (model.isEmpty()) {
      throw ServingException.invalid("model_name is missing");
    }
    return model;
  }

  private static void refuseFiles(Parameter parameter) throws ServingException {
    if (parameter.name().equals("config") || parameter.name().startsWith("file:")) {
      throw new ServingException(
          Failure.UNSUPPORTED,
          "parameter "
              + Texts.cut(parameter.name())
              + ": models are taken from the server's folder alone");
    }
  }

  MessageWriter regions(MessageReader in) throws IOException, ServingException {
    MessageWriter reply = new MessageWriter();
    for (Region region : server.sharedRegions().status(in.onlyText())) {
      MessageWriter status =
          new MessageWriter()
              .text(1, region.name())
              .text(2, region.key())
              .integer(3, region.offset())
              .integer(4, region.byteSize());
      reply.entry(1, region.name(), status);
    }
    return reply;
  }

  MessageWriter register(MessageReader in) throws IOException, ServingException {
    String name = "";
    String key = "";
    long offset = 0;
    long byteSize = 0;
    for (int tag = in.next(); tag != 0; tag = in.next()) {
      switch (tag) {
        case 1 << 3 | LENGTH -> name = in.text();
        case 2 << 3 | LENGTH -> key = in.text();
        case 3 << 3 | VARINT -> offset = in.varint();
        case 4 << 3 | VARINT -> byteSize = in.varint();
        default -> in.skip(tag);
      }
    }
    server.sharedRegions().register(name, key, offset, byteSize);
    return new MessageWriter();
  }

  MessageWriter unregister(MessageReader in) throws IOException {
    server.sharedRegions().unregister(in.onlyText());
    return new MessageWriter();
  }

  /** Refuses an extension of Triton that is not done. */
  static MessageWriter refuse(String extension) throws ServingException {
    throw new ServingException(
        Failure.UNSUPPORTED, "the extension " + extension + " is not done here");
  }

  /** Refuses what only a server with CUDA has. */
  static MessageWriter cuda(MessageReader in) throws ServingException {
    throw new ServingException(
        Failure.UNSUPPORTED, "there is no CUDA here: expected system shared memory");
  }
}
