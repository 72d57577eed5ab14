// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.Request;
import io.thalamus.model.Deadline;
import io.thalamus.model.ErrorStatus;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class BurstTest extends BurstFixture {
  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void executesOneRequestAfterTheOther(int version) throws Exception {
    Doubler model = new Doubler();
    try (BurstClient client = service.open(model, settings(version, 1))) {
      for (int i = 1; i <= 1000; i++) {
        in.segment().set(ValueLayout.JAVA_INT, 4, i);
        assertTrue(client.send(request, ExecutionConfig.DEFAULT));
        assertFalse(client.send(request, ExecutionConfig.DEFAULT), "one at a time");
        assertEquals(Doubler.DONE, client.receive(PATIENCE));
        assertEquals(2 * i, out.segment().get(ValueLayout.JAVA_INT, 8));
      }
      assertEquals(new BurstStatistics(1000, 1000, 2), client.statistics());
      assertFalse(client.isServedByDriver());
      assertFalse(client.isBroken());
    }
    assertEquals(1000, model.executions);
  }

  @Test
  void resultsComeInTheOrderOfTheRequests() throws Exception {
    Request[] requests = new Request[4];
    for (int i = 0; i < requests.length; i++) {
      requests[i] = Doubler.request(in, 4 * i, out, 4 * i);
    }
    try (BurstClient client = service.open(new Doubler(), settings(2, 4))) {
      int received = 0;
      for (int i = 0; i < 2000; i++) {
        if (client.underWay() == 4) {
          assertEquals(Doubler.DONE, client.receive(PATIENCE));
          assertEquals(2 * received, out.segment().get(ValueLayout.JAVA_INT, 4 * (received % 4)));
          received++;
        }
        in.segment().set(ValueLayout.JAVA_INT, 4 * (i % 4), i);
        assertTrue(client.send(requests[i % 4], ExecutionConfig.DEFAULT));
      }
      while (client.underWay() > 0) {
        assertEquals(Doubler.DONE, client.receive(PATIENCE));
        assertEquals(2 * received, out.segment().get(ValueLayout.JAVA_INT, 4 * (received % 4)));
        received++;
      }
      assertEquals(2000, received);
    }
  }

  @Test
  void settingsTravelInVersion2() throws Exception {
    Doubler model = new Doubler();
    Deadline deadline = Deadline.after(Duration.ofHours(1));
    ExecutionConfig config =
        ExecutionConfig.DEFAULT
            .with(deadline)
            .withLoopTimeout(Duration.ofMillis(1234))
            .withMeasureTiming(true);
    try (BurstClient client = service.open(model, settings(2, 1))) {
      assertTrue(client.send(request, config));
      assertSame(ErrorStatus.NONE, client.receive(PATIENCE).status());
      assertEquals(deadline.nanoTime(), model.lastConfig.deadline().nanoTime());
      assertEquals(config.loopTimeout(), model.lastConfig.loopTimeout());
      assertTrue(model.lastConfig.measureTiming());
    }
    try (BurstClient client = service.open(model, settings(1, 1))) {
      assertFalse(client.send(request, config), "version 1 has no words for a deadline");
      assertFalse(client.send(request, ExecutionConfig.DEFAULT.withDuration(Duration.ZERO)));
      assertTrue(client.send(request, ExecutionConfig.DEFAULT));
      assertSame(ErrorStatus.NONE, client.receive(PATIENCE).status());
    }
  }

  @Test
  void timeThatADeviceSpendsOnOthersIsToldToTheCaller() throws Exception {
    List<Long> told = new ArrayList<>();
    ExecutionControl control =
        new ExecutionControl() {
          @Override
          public Signal checkpoint() {
            return Signal.CONTINUE;
          }

          @Override
          public void spentOnOthers(long nanos) {
            told.add(nanos);
          }
        };
    Doubler crowded =
        new Doubler() {
          @Override
          public ExecutionResult execute(Request wanted, ExecutionConfig config) {
            config.control().spentOnOthers(5L + executions);
            return super.execute(wanted, config);
          }
        };
    for (boolean isServedByCaller : new boolean[] {false, true}) {
      try (BurstClient client = service.open(crowded, settings(2, 1, isServedByCaller))) {
        for (int i = 0; i < 2; i++) {
          assertTrue(client.send(request, ExecutionConfig.DEFAULT.with(control)));
          assertEquals(ErrorStatus.NONE, client.receive(PATIENCE).status());
        }
      }
    }
    assertEquals(List.of(5L, 6L, 7L, 8L), told);
  }

  /** A yield of the thread that waits gives nobody a processor, and the device works on. */
  @Test
  void whoWaitsForTheServerPassesNoCheckpointWhereNoPauseIsWanted() throws Exception {
    AtomicInteger checkpoints = new AtomicInteger();
    CountDownLatch asked = new CountDownLatch(2);
    ExecutionControl control =
        new ExecutionControl() {
          @Override
          public Signal checkpoint() {
            checkpoints.incrementAndGet();
            return Signal.CONTINUE;
          }

          @Override
          public Signal status() {
            asked.countDown();
            return Signal.CONTINUE;
          }
        };
    Doubler slow =
        new Doubler() {
          @Override
          public ExecutionResult execute(Request wanted, ExecutionConfig config) {
            try {
              assertTrue(asked.await(PATIENCE, TimeUnit.NANOSECONDS), "nobody asks");
            } catch (InterruptedException e) {
              throw new IllegalStateException(e);
            }
            return super.execute(wanted, config);
          }
        };
    try (BurstClient client = service.open(slow, settings(2, 1, false))) {
      assertTrue(client.send(request, ExecutionConfig.DEFAULT.with(control)));
      assertSame(ErrorStatus.NONE, client.receive(PATIENCE).status());
    }
    assertEquals(0, checkpoints.get());
  }

  @Test
  void whateverADriverThrowsIsAFailureAndTheBurstLivesOn() throws Exception {
    Doubler model = throwing(new StackOverflowError("too deep"));
    try (BurstClient client = service.open(model, settings(2, 1))) {
      assertTrue(client.send(request, ExecutionConfig.DEFAULT));
      Failed failed = assertInstanceOf(Failed.class, client.receive(PATIENCE));
      assertEquals(ErrorStatus.GENERAL_FAILURE, failed.status());
      assertTrue(failed.message().contains("too deep"), failed.message());
      assertTrue(client.send(request, ExecutionConfig.DEFAULT));
      assertSame(ErrorStatus.NONE, client.receive(PATIENCE).status());
    }
  }
}
