// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import io.thalamus.integration.run.Caller.Outcome;
import io.thalamus.integration.run.Caller.Question;
import io.thalamus.integration.run.Caller.Reply;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * One stream of requests over gRPC to a server in a process of its own, while the model and the
 * device {@code simd} are updated. Each answer is to equal that of a single request, bit for bit.
 */
class StreamingClientTest {
  private static final long SEED = Long.getLong("thalamus.seed", System.nanoTime());
  private static final Path HOME =
      Path.of(System.getProperty("thalamus.root"), "launcher/target/thalamus");

  private static final int INPUTS = 8;
  private static final int LEAST_REQUESTS = 400;
  private static final int UPDATES = 2;

  /** As many as the server computes at a time, and one more that waits at its door. */
  private static final int UNDER_WAY = 9;

  @TempDir Path folder;

  private final byte[][] inputs = new byte[INPUTS][28 * 28];
  private final byte[][] expected = new byte[INPUTS][];
  private final Set<String> devices = new TreeSet<>();

  private Path models;
  private volatile int version = 1;
  private volatile boolean isOver;

  @Test
  void aStreamOutlivesUpdatesOfItsModelAndItsDevice() throws Exception {
    System.out.println("streaming client: seed = " + SEED);
    Random random = new Random(SEED);
    models = folder.resolve("models");
    put(1);
    try (RunningServer server = RunningServer.start("cpu", folder, models, "--grace", "0");
        Caller single = server.caller("grpc");
        StreamCaller stream = (StreamCaller) server.caller("stream")) {
      for (int i = 0; i < INPUTS; i++) {
        random.nextBytes(inputs[i]);
        expected[i] = single.ask(Question.ofDigits(inputs[i])).value();
        assertTrue(expected[i].length > 0, "an answer without a stream");
      }
      Thread updates = Thread.ofPlatform().start(() -> update(server));
      int[] least = new int[UNDER_WAY];
      int asked = 0;
      for (; asked < UNDER_WAY; asked++) {
        least[asked] = version;
        stream.send(Question.ofDigits(inputs[asked % INPUTS]));
      }
      int answered = 0;
      long bursts = 0;
      while (answered < asked) {
        check(stream.next(), answered % INPUTS, least[answered % UNDER_WAY]);
        answered++;
        if (!isOver || asked < LEAST_REQUESTS) {
          least[asked % UNDER_WAY] = version;
          stream.send(Question.ofDigits(inputs[asked % INPUTS]));
          asked++;
        }
        if (answered % 100 == 0) {
          bursts = Math.max(bursts, server.figure("thalamus_bursts_open"));
        }
      }
      updates.join();
      assertEquals(UPDATES + 1, version, "updates of both");
      assertTrue(answered >= LEAST_REQUESTS, "answers: " + answered);
      assertTrue(bursts >= 1, "bursts while the stream was open: " + bursts);
      assertEquals(Set.of("cpu", "simd"), devices, "devices that answered");
      assertEquals(Status.Code.OK, stream.end().getCode());
      long end = System.nanoTime() + 20_000_000_000L;
      while (server.figure("thalamus_bursts_open") > 0 && System.nanoTime() < end) {
        Thread.sleep(10);
      }
      assertEquals(0, server.figure("thalamus_bursts_open"), "bursts after the end");
      assertEquals(0, server.end(() -> {}));
    }
  }

  private void check(Reply reply, int input, int least) {
    assertEquals(Outcome.ANSWERED, reply.outcome(), reply::why);
    assertTrue(Integer.parseInt(reply.version()) >= least, "a version that was replaced");
    assertArrayEquals(expected[input], reply.value());
    devices.add(reply.ranOn());
  }

  /** Gives the device in between, and the model again, some times. */
  private void update(RunningServer server) {
    try {
      for (int i = 0; i < UPDATES; i++) {
        Path aside = folder.resolve("simd.jar");
        Files.copy(HOME.resolve("devices/io.thalamus.simd.jar"), aside);
        Files.setLastModifiedTime(aside, FileTime.fromMillis(System.currentTimeMillis()));
        Files.move(
            aside, folder.resolve("storage/deploy/simd.jar"), StandardCopyOption.ATOMIC_MOVE);
        put(i + 2);
        server.awaitEntry("digits", i + 2, "READY");
        version = i + 2;
        // File Install looks for changes every two seconds.
        Thread.sleep(4_000);
      }
    } catch (Exception e) {
      throw new IllegalStateException(e);
    } finally {
      isOver = true;
    }
  }

  private void put(int number) throws Exception {
    Path file = models.resolve("digits/" + number + "/model.tflite");
    Files.createDirectories(file.getParent());
    Path aside =
        Files.copy(HOME.resolve("samples/digits/digits.tflite"), folder.resolve("model" + number));
    Files.move(aside, file, StandardCopyOption.ATOMIC_MOVE);
  }
}
