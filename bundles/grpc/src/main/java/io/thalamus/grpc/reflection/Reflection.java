// SPDX-License-Identifier: Apache-2.0
package io.thalamus.grpc.reflection;

import io.thalamus.grpc.wire.MessageReader;
import io.thalamus.grpc.wire.MessageWriter;
import io.thalamus.grpc.wire.WireException;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/** The definitions of all calls, and the answers to questions about them. Thread-safe. */
public final class Reflection {
  /** The service that answers the questions. */
  public static final String SERVICE = "grpc.reflection.v1.ServerReflection";

  /** The same service by its older name, which many clients try first or alone. */
  public static final String OLD_SERVICE = "grpc.reflection.v1alpha.ServerReflection";

  private static final int NOT_FOUND = 5;
  private static final int INVALID_ARGUMENT = 3;

  /** A question is a name or two. */
  private static final int MOST_BYTES = 16 * 1024;

  private final Map<String, Definitions.File> files = new LinkedHashMap<>();

  /** Reads all definitions. */
  public Reflection() {
    add("inference.proto", text("inference.proto"));
    add("grpc/health/v1/health.proto", text("health.proto"));
    String reflection = text("reflection.proto");
    add("grpc/reflection/v1/reflection.proto", reflection);
    add(
        "grpc/reflection/v1alpha/reflection.proto",
        reflection.replace("package grpc.reflection.v1;", "package grpc.reflection.v1alpha;"));
  }

  private void add(String name, String text) {
    files.put(name, Definitions.read(name, text));
  }

  private static String text(String name) {
    try (InputStream in = Reflection.class.getResourceAsStream(name)) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Answers a {@code ServerReflectionRequest} by a {@code ServerReflectionResponse}.
   *
   * @throws IOException if it cannot be read
   */
  public MessageWriter answer(InputStream question) throws IOException {
    byte[] original = question.readNBytes(MOST_BYTES + 1);
    if (original.length > MOST_BYTES) {
      throw new WireException("a question of more than " + MOST_BYTES + " bytes");
    }
    String host = "";
    int asked = 0;
    String name = "";
    MessageReader in = new MessageReader(new ByteArrayInputStream(original));
    for (int tag = in.next(); tag != 0; tag = in.next()) {
      int field = tag >>> 3;
      boolean isLength = (tag & 7) == MessageReader.LENGTH;
      if (isLength && field == 1) {
        host = in.text();
      } else if (isLength && (field == 3 || field == 4 || field == 6 || field == 7)) {
        asked = field;
        name = in.text();
      } else if (isLength && field == 5) {
        asked = field;
        name = containingType(in);
      } else {
        in.skip(tag);
      }
    }
    MessageWriter answer = new MessageWriter().text(1, host).bytes(2, original);
    String wanted = name;
    return switch (asked) {
      case 3 -> file(answer, Optional.ofNullable(files.get(wanted)), "file", wanted);
      case 4 -> file(answer, containing(wanted), "symbol", wanted);
      case 5 -> error(answer, NOT_FOUND, "type " + wanted + " has no extensions");
      case 6 ->
          containing(wanted).isPresent()
              ? answer.message(5, new MessageWriter().text(1, wanted))
              : error(answer, NOT_FOUND, "there is no type " + wanted);
      case 7 -> answer.message(6, services());
      default -> error(answer, INVALID_ARGUMENT, "the message asks for nothing that is known");
    };
  }

  private static String containingType(MessageReader in) throws IOException {
    long outer = in.enter();
    String name = in.onlyText();
    in.leave(outer);
    return name;
  }

  private Optional<Definitions.File> containing(String symbol) {
    return files.values().stream().filter(file -> file.symbols().contains(symbol)).findFirst();
  }

  private static MessageWriter file(
      MessageWriter answer, Optional<Definitions.File> file, String kind, String name) {
    Function<Definitions.File, MessageWriter> found =
        each -> answer.message(4, new MessageWriter().bytes(1, each.descriptor()));
    return file.map(found)
        .orElseGet(() -> error(answer, NOT_FOUND, "there is no " + kind + " " + name));
  }

  private static MessageWriter error(MessageWriter answer, int code, String message) {
    return answer.message(7, new MessageWriter().integer(1, code).text(2, message));
  }

  private MessageWriter services() {
    MessageWriter services = new MessageWriter();
    for (Definitions.File file : files.values()) {
      file.services().forEach(name -> services.message(1, new MessageWriter().text(1, name)));
    }
    return services;
  }
}
