// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.server;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.ExecutionReport;
import io.thalamus.api.ResultCode;
import io.thalamus.serving.Failure;
import io.thalamus.serving.InferenceResponse;
import io.thalamus.serving.InferenceStream;
import io.thalamus.serving.OpenBurst;
import io.thalamus.serving.PendingInference;
import io.thalamus.serving.RequestTimes;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Requests of streams, which are executed by bursts. */
class StreamsTest extends ServerTest {
  private static float first(PendingInference pending) throws Exception {
    InferenceResponse response = get(pending);
    return response.outputs().getFirst().value().toArray(ValueLayout.JAVA_FLOAT)[0];
  }

  private List<String> names() {
    return server.bursts().stream().map(each -> each.model() + " " + each.version()).toList();
  }

  private static List<String> threads() {
    return Thread.getAllStackTraces().keySet().stream()
        .map(Thread::getName)
        .filter(name -> name.startsWith("thalamus-serving-burst"))
        .toList();
  }

  @Test
  void aStreamHasABurstForEachModelUntilItIsClosed() throws Exception {
    write("a.tflite", "times 2");
    write("b.tflite", "times 3");
    look();
    InferenceStream stream = server.openStream();
    assertEquals(List.of(), server.bursts(), "nothing has come yet");
    for (int i = 0; i < 20; i++) {
      assertEquals(2 * i, first(stream.infer(request("a", x(i, 0)))));
      assertEquals(3 * i, first(stream.infer(request("b", x(i, 0)))));
    }
    assertEquals(40, fake.executionsByBurst.get());
    assertEquals(List.of("a 1", "b 1"), names().stream().sorted().toList());
    assertEquals(2, fake.bursts.size());
    assertEquals(1, threads().size());
    InferenceStream other = server.openStream();
    assertEquals(2, first(other.infer(request("a", x(1, 0)))));
    assertEquals(3, fake.bursts.size(), "each stream has its own");
    other.close();
    stream.close();
    stream.close();
    eventually(() -> fake.bursts.isEmpty() && server.bursts().isEmpty());
    eventually(() -> threads().isEmpty());
    assertEquals(2, first(stream.infer(request("a", x(1, 0)))), "what comes late is executed too");
    assertEquals(0, fake.bursts.size());
  }

  @Test
  void aStreamHasABurstForEachSizeThatAFileLeavesOpen() throws Exception {
    write("a.tflite", "open 3");
    look();
    try (InferenceStream stream = server.openStream()) {
      for (int i = 0; i < 12; i++) {
        float[] values = new float[2 + 2 * (i % 3)];
        values[0] = i;
        assertEquals(3 * i, first(stream.infer(request("a", x(values)))));
      }
      assertEquals(12, fake.executionsByBurst.get());
      assertEquals(3, fake.bursts.size());
      for (int i = 0; i < 40; i++) {
        assertEquals(0, first(stream.infer(request("a", x(new float[2 + 2 * (i % 20)])))));
        assertTrue(fake.bursts.size() <= 8, () -> fake.bursts.size() + " bursts");
      }
      assertEquals(20, fake.compilations.get());
    }
    eventually(() -> threads().isEmpty());
  }

  @Test
  void requestsWaitForEachOtherAndTheLastOnesForTheEnd() throws Exception {
    write("a.tflite", "times 2");
    look();
    CountDownLatch gate = new CountDownLatch(1);
    AtomicInteger running = new AtomicInteger();
    AtomicInteger most = new AtomicInteger();
    fake.byBurst =
        run -> {
          most.accumulateAndGet(running.incrementAndGet(), Math::max);
          await(gate);
          running.decrementAndGet();
          return run.run();
        };
    InferenceStream stream = server.openStream();
    List<PendingInference> pending = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      pending.add(stream.infer(request("a", x(i, 0))));
    }
    stream.close();
    PendingInference cancelled = pending.get(5);
    cancelled.cancel();
    long submitted = System.nanoTime();
    assertFalse(pending.getLast().completion().isDone());
    long waited = System.nanoTime() - submitted;
    gate.countDown();
    for (int i = 0; i < 8; i++) {
      if (i == 5) {
        assertEquals(Failure.CANCELLED, failure(cancelled).failure());
      } else {
        assertEquals(2 * i, first(pending.get(i)));
      }
    }
    assertEquals(1, most.get(), "executions at once");
    RequestTimes times = get(pending.getLast()).times();
    assertTrue(times.queue() >= waited, "the wait for those before counts as one");
    eventually(() -> fake.bursts.isEmpty());
  }

  private static void await(CountDownLatch gate) {
    try {
      gate.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void aNewVersionHasABurstOfItsOwnAndTheOldOneIsClosed() throws Exception {
    write("m/1/model.tflite", "times 2");
    look();
    InferenceStream stream = server.openStream();
    assertEquals(2, first(stream.infer(request("m", x(1, 0)))));
    write("m/2/model.tflite", "times 5");
    look();
    look();
    assertEquals(5, first(stream.infer(request("m", x(1, 0)))));
    eventually(() -> fake.bursts.size() == 1);
    assertEquals(List.of("m 2"), names());
    eventually(() -> fake.open.get() == 2);
    stream.close();
    eventually(() -> fake.bursts.isEmpty());
  }

  @Test
  void aDeviceThatGoesIsNoFailureOfTheStream() throws Exception {
    write("m.tflite", "times 2");
    look();
    AtomicInteger tries = new AtomicInteger();
    fake.byBurst =
        run ->
            tries.incrementAndGet() == 1
                ? ExecutionReport.failed(ResultCode.DEAD_OBJECT, "it has left")
                : run.run();
    try (InferenceStream stream = server.openStream()) {
      InferenceResponse response = get(stream.infer(request("m", x(1, 2))));
      assertEquals(2, response.attempts());
      assertArrayEquals(
          new float[] {2, 4},
          response.outputs().getFirst().value().toArray(ValueLayout.JAVA_FLOAT));
      fake.byBurst = run -> ExecutionReport.failed(ResultCode.OP_FAILED, "it cannot");
      assertEquals("it cannot", failure(stream.infer(request("m", x(1, 2)))).getMessage());
      assertEquals(Failure.NOT_FOUND, failure(stream.infer(request("n", x(1, 2)))).failure());
      fake.byBurst = FakeNetworks.Run::run;
      assertEquals(2, first(stream.infer(request("m", x(1, 2)))));
    }
  }

  @Test
  void streamsBeyondTheMostHaveNoBurstAndAreAnsweredAllTheSame() throws Exception {
    write("m.tflite", "times 2");
    look();
    List<InferenceStream> streams = new ArrayList<>();
    for (int i = 0; i < 70; i++) {
      streams.add(server.openStream());
      assertEquals(2 * i, first(streams.getLast().infer(request("m", x(i, 2)))));
    }
    assertEquals(64, fake.bursts.size());
    assertEquals(6, fake.executions.get());
    streams.getFirst().close();
    eventually(() -> fake.bursts.size() == 63);
    eventually(
        () -> {
          first(streams.getLast().infer(request("m", x(1, 2))));
          return fake.bursts.size() == 64;
        });
    List<OpenBurst> open = server.bursts();
    assertEquals(64, open.size());
    // The end of the server closes what its clients leave open.
    server.close();
    eventually(() -> fake.bursts.isEmpty() && threads().isEmpty());
  }
}
