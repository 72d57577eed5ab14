// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.server;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.ExecutionReport;
import io.thalamus.api.ResultCode;
import io.thalamus.serving.Failure;
import io.thalamus.serving.IndexEntry;
import io.thalamus.serving.ModelState;
import io.thalamus.serving.PendingInference;
import io.thalamus.serving.ServingException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** Models that come, change and go while they are served. */
class UpdatesTest extends ServerTest {
  private IndexEntry entry(int index) {
    return server.index().get(index);
  }

  private String state(int index) {
    IndexEntry entry = entry(index);
    return entry.name() + "/" + entry.version() + " " + entry.state() + " " + entry.reason();
  }

  @Test
  void filesBecomeModels() throws Exception {
    write("flat.tflite", "times 2");
    write("deep/3/model.onnx", "times 3");
    write("deep/x/model.onnx", "times 4");
    write("readme.txt", "times 5");
    write(".hidden.tflite", "times 6");
    assertFalse(server.isReady());
    look();
    assertTrue(server.isReady());
    assertEquals(
        List.of("deep/3", "flat/1"),
        server.index().stream().map(each -> each.name() + "/" + each.version()).toList());
    assertArrayEquals(new float[] {3, 6}, times("deep", 1, 2));
    assertEquals("tensorflow_lite", server.metadata("flat", Optional.empty()).platform());
    assertEquals(64, server.metadata("flat", Optional.empty()).digest().length());
  }

  @Test
  void aChangedFileTakesOverOnceTwoLooksAgree() throws Exception {
    write("m.tflite", "times 2");
    look();
    write("m.tflite", "times 33");
    look();
    assertArrayEquals(new float[] {2, 2}, times("m", 1, 1));
    look();
    assertArrayEquals(new float[] {33, 33}, times("m", 1, 1));
    int loads = fake.loads.get();
    look();
    look();
    assertEquals(loads, fake.loads.get(), "what has not changed is not read");
    eventually(() -> fake.open.get() == 2);
  }

  @Test
  void aNewVersionTakesOverAndTheOldOneDrains() throws Exception {
    write("m/1/model.tflite", "times 2");
    look();
    CompletableFuture<Void> gate = new CompletableFuture<>();
    fake.hook = run -> gate.thenApply(done -> run.run());
    PendingInference old = server.infer(request("m", x(1, 1)));
    fake.hook = run -> CompletableFuture.completedFuture(run.run());
    write("m/10/model.tflite", "times 5");
    look();
    look();
    assertArrayEquals(new float[] {5, 5}, times("m", 1, 1));
    assertEquals("m/1 UNLOADING version 10 is served in its place", state(0));
    assertEquals(4, fake.open.get(), "the old one is open while it is used");
    gate.complete(null);
    assertEquals("1", get(old).version());
    eventually(() -> fake.open.get() == 2);
    eventually(() -> entry(0).state() == ModelState.UNAVAILABLE);
    ServingException gone =
        assertThrows(ServingException.class, () -> server.metadata("m", Optional.of("1")));
    assertEquals(Failure.UNAVAILABLE, gone.failure());
    assertThrows(ServingException.class, () -> server.metadata("m", Optional.of("2")));
  }

  /** A request without a version is never refused between the choice of one and its use. */
  @Test
  void updatesRefuseNobody() throws Exception {
    write("m/1/model.tflite", "times 1");
    look();
    AtomicBoolean isOver = new AtomicBoolean();
    List<CompletableFuture<Integer>> clients = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      clients.add(
          CompletableFuture.supplyAsync(
              () -> {
                int asked = 0;
                for (; !isOver.get(); asked++) {
                  assertDoesNotThrow(() -> get(server.infer(request("m", x(1, 1)))));
                  assertDoesNotThrow(() -> server.metadata("m", Optional.empty()));
                }
                return asked;
              },
              task -> Thread.ofPlatform().start(task)));
    }
    for (int version = 2; version <= 300; version++) {
      write("m/" + version + "/model.tflite", "times " + version);
      look();
      look();
    }
    isOver.set(true);
    for (CompletableFuture<Integer> client : clients) {
      assertTrue(client.get() > 0);
    }
  }

  @Test
  void aVersionThatFailsLeavesTheOldOneServingUntilItIsMended() throws Exception {
    write("m/1/model.tflite", "times 2");
    look();
    write("m/2/model.tflite", "damaged");
    look();
    look();
    assertArrayEquals(new float[] {2, 2}, times("m", 1, 1));
    assertEquals("m/2 UNAVAILABLE model.tflite: damaged at byte 0", state(1));
    assertTrue(server.isReady(), "the model answers");
    write("m/1/model.tflite", "damaged as well");
    look();
    look();
    assertArrayEquals(new float[] {2, 2}, times("m", 1, 1));
    assertEquals("m/1 READY model.tflite: damaged at byte 0", state(0));
    ServingException failed = assertThrows(ServingException.class, () -> server.load("m"));
    assertEquals(Failure.INVALID_ARGUMENT, failed.failure());
    write("m/2/model.tflite", "times 7");
    look();
    look();
    assertArrayEquals(new float[] {7, 7}, times("m", 1, 1));
    assertEquals("m/2 READY ", state(1));
  }

  @Test
  void aModelThatNeverAnsweredIsNotReady() throws Exception {
    write("m.tflite", "damaged");
    write("n.tflite", "times 2");
    look();
    assertFalse(server.isReady());
    assertFalse(server.isReady("m", Optional.empty()));
    assertTrue(server.isReady("n", Optional.empty()));
    ServingException failure = failure(server.infer(request("m", x(1, 1))));
    assertEquals(Failure.UNAVAILABLE, failure.failure());
    assertTrue(failure.getMessage().contains("damaged at byte 0"), failure.getMessage());
    assertTrue(failure.retryAfter().isPresent());
  }

  @Test
  void aFileThatChangesWhileItIsReadIsReadAgain() throws Exception {
    write("m.tflite", "times 2");
    fake.onLoad =
        () -> {
          fake.onLoad = () -> {};
          try {
            write("m.tflite", "times 44");
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
        };
    look();
    assertFalse(server.isReady());
    assertEquals("m/1 UNAVAILABLE m.tflite: it changed while it was read", state(0));
    look();
    assertArrayEquals(new float[] {44, 44}, times("m", 1, 1));
  }

  @Test
  void aWarmUpThatFailsIsAFailure() throws Exception {
    write("m.tflite", "times 2");
    look();
    fake.warmUp = run -> ExecutionReport.failed(ResultCode.OP_FAILED, "it cannot compute");
    write("m.tflite", "times 333");
    look();
    look();
    assertArrayEquals(new float[] {2, 2}, times("m", 1, 1));
    assertEquals("m/1 READY m.tflite: the warm-up failed: it cannot compute", state(0));
  }

  @Test
  void whatIsGoneIsNotServed() throws Exception {
    write("m.tflite", "times 2");
    write("n.tflite", "times 2");
    look();
    Files.delete(folder.resolve("m.tflite"));
    look();
    assertEquals(Failure.NOT_FOUND, failure(server.infer(request("m", x(1, 1)))).failure());
    assertEquals(1, server.index().size());
    assertTrue(server.isReady());
  }

  @Test
  void anUnloadedModelStaysAwayUntilItIsLoaded() throws Exception {
    write("m.tflite", "times 2");
    look();
    server.unload("m");
    assertTrue(server.isReady(), "it is not wanted");
    look();
    look();
    ServingException failure = failure(server.infer(request("m", x(1, 1))));
    assertEquals(Failure.UNAVAILABLE, failure.failure());
    assertEquals("model 'm' version 1 is not ready: it was unloaded", failure.getMessage());
    eventually(() -> fake.open.get() == 0);
    write("m.tflite", "times 55");
    server.load("m");
    assertArrayEquals(new float[] {55, 55}, times("m", 1, 1));
    assertThrows(ServingException.class, () -> server.load("n"));
    assertThrows(ServingException.class, () -> server.unload("n"));
  }

  @Test
  void severalVersionsAreServedWhereThatIsConfigured() throws Exception {
    server.close();
    server = new ServingComponent(fake.networks(), "1.2.3", settings(2));
    write("m/1/model.tflite", "times 1");
    write("m/2/model.tflite", "times 2");
    write("m/3/model.tflite", "damaged");
    write("m/4/model.tflite", "times 4");
    look();
    assertEquals(List.of("2", "4"), server.metadata("m", Optional.empty()).versions());
    assertEquals("4", server.metadata("m", Optional.empty()).version());
    assertEquals("2", server.metadata("m", Optional.of("2")).version());
  }

  @Test
  void aFolderThatCannotBeReadTakesNothingAway() throws Exception {
    write("m.tflite", "times 2");
    look();
    Files.move(folder.resolve("m.tflite"), folder.resolveSibling("aside.tflite"));
    Files.delete(folder);
    look();
    assertArrayEquals(new float[] {2, 2}, times("m", 1, 1));
    Files.createDirectory(folder);
    Files.move(folder.resolveSibling("aside.tflite"), folder.resolve("m.tflite"));
  }
}
