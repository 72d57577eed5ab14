// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.server;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.serving.Datatype;
import io.thalamus.serving.InferenceRequest;
import io.thalamus.serving.InferenceRequest.Input;
import io.thalamus.serving.InferenceResponse;
import io.thalamus.serving.PendingInference;
import io.thalamus.serving.ServingException;
import java.io.IOException;
import java.lang.annotation.Annotation;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** The parts that tests of the server share: a folder of fake models, and requests. */
abstract class ServerTest {
  static final long PATIENCE_SECONDS = 60;

  @TempDir Path folder;
  final FakeNetworks fake = new FakeNetworks();
  ServingComponent server;
  String[] states = {};
  String[] joins = {};

  @BeforeEach
  void open() {
    server = new ServingComponent(fake.networks(), "1.2.3", settings(1));
  }

  /** Settings of a server that looks at the folder only when it is told to. */
  ServingSettings settings(int versions) {
    return new ServingSettings() {
      @Override
      public Class<? extends Annotation> annotationType() {
        return ServingSettings.class;
      }

      @Override
      public String models() {
        return folder.toString();
      }

      @Override
      public int versions() {
        return versions;
      }

      @Override
      public long scanMillis() {
        return 3_600_000;
      }

      @Override
      public long retryMillis() {
        return 1;
      }

      @Override
      public long timeoutMillis() {
        return 0;
      }

      @Override
      public String[] states() {
        return states;
      }

      @Override
      public String[] joins() {
        return joins;
      }

      @Override
      public int joinRows() {
        return 4;
      }

      @Override
      public int sequences() {
        return 2;
      }

      @Override
      public long sequenceIdleMillis() {
        return 1;
      }

      @Override
      public String policy() {
        return "";
      }
    };
  }

  @AfterEach
  void nothingIsLeftOpen() throws Exception {
    server.close();
    eventually(() -> fake.open.get() == 0);
  }

  interface Condition {
    boolean holds() throws Exception;
  }

  static void eventually(Condition condition) throws Exception {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
    while (!condition.holds()) {
      assertTrue(System.nanoTime() < end, "it never happened");
      Thread.sleep(1);
    }
  }

  void write(String file, String text) throws IOException {
    Path path = folder.resolve(file);
    Files.createDirectories(path.getParent());
    Path next = folder.resolve(".next");
    Files.writeString(next, text);
    Files.move(next, path, StandardCopyOption.REPLACE_EXISTING);
  }

  void look() {
    server.models().look();
  }

  static Input x(float... values) {
    return new Input(
        "x",
        Datatype.FP32,
        List.of(values.length / 2L, 2L),
        Arena.ofAuto().allocate(4L * values.length, 64).copyFrom(MemorySegment.ofArray(values)));
  }

  static InferenceRequest request(String model, Input... inputs) {
    return InferenceRequest.of(
        model, List.of(inputs), (output, bytes) -> Arena.ofAuto().allocate(bytes, 64));
  }

  static InferenceResponse get(PendingInference pending) throws Exception {
    return pending.completion().get(PATIENCE_SECONDS, TimeUnit.SECONDS);
  }

  static ServingException failure(PendingInference pending) {
    ExecutionException failed = assertThrows(ExecutionException.class, () -> get(pending));
    return (ServingException) failed.getCause();
  }

  float[] times(String model, float... values) throws Exception {
    return get(server.infer(request(model, x(values))))
        .outputs()
        .getFirst()
        .value()
        .toArray(ValueLayout.JAVA_FLOAT);
  }
}
