// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.hal.BurstConfig;
import io.thalamus.hal.BurstContext;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.Request;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Deadline;
import io.thalamus.model.ErrorStatus;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Bursts whose requests are executed by the thread that receives their results. */
class CallerServedTest extends BurstFixture {
  private BurstClient open(Doubler model) throws DeviceException {
    return service.open(model, settings(2, 1, true));
  }

  /** A model that knows which thread executed it last. */
  private static class Threaded extends Doubler {
    private volatile Thread thread;

    @Override
    public ExecutionResult execute(Request wanted, ExecutionConfig config) {
      thread = Thread.currentThread();
      return super.execute(wanted, config);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void theThreadThatReceivesExecutes(int version) throws Exception {
    Threaded model = new Threaded();
    try (BurstClient client = service.open(model, settings(version, 1, true))) {
      assertNull(client.receive(0), "nothing is under way");
      for (int i = 1; i <= 1000; i++) {
        in.segment().set(ValueLayout.JAVA_INT, 4, i);
        assertTrue(client.send(request, ExecutionConfig.DEFAULT));
        assertFalse(client.send(request, ExecutionConfig.DEFAULT), "one at a time");
        assertEquals(i - 1, model.executions);
        assertEquals(Doubler.DONE, client.receive(0));
        assertEquals(2 * i, out.segment().get(ValueLayout.JAVA_INT, 8));
        assertSame(Thread.currentThread(), model.thread);
      }
      assertEquals(new BurstStatistics(1000, 1000, 2), client.statistics());
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void oneCallExecutesInItsThread(int version) throws Exception {
    Threaded model = new Threaded();
    BurstClient client = service.open(model, settings(version, 1, true));
    assertTrue(client.isServedByCaller());
    for (int i = 1; i <= 1000; i++) {
      in.segment().set(ValueLayout.JAVA_INT, 4, i);
      assertEquals(Doubler.DONE, client.execute(request, ExecutionConfig.DEFAULT));
      assertEquals(2 * i, out.segment().get(ValueLayout.JAVA_INT, 8));
      assertSame(Thread.currentThread(), model.thread);
      assertEquals(0, client.underWay());
    }
    assertEquals(new BurstStatistics(1000, 1000, 2), client.statistics());
    assertTrue(client.send(request, ExecutionConfig.DEFAULT));
    assertNull(client.execute(request, ExecutionConfig.DEFAULT), "one at a time");
    assertEquals(Doubler.DONE, client.receive(0));
    client.close();
    assertNull(client.execute(request, ExecutionConfig.DEFAULT), "it is closed");
    assertEquals(1001, model.executions);
  }

  @Test
  void aRequestDuringAnExecutionIsRefusedAtOnce() throws Exception {
    Endless model = new Endless();
    try (BurstClient client = open(model)) {
      FutureTask<ExecutionResult> executing =
          new FutureTask<>(() -> client.execute(request, ExecutionConfig.DEFAULT));
      Thread.ofPlatform().start(executing);
      model.begun.await();
      assertFalse(client.send(request, ExecutionConfig.DEFAULT));
      assertNull(client.execute(request, ExecutionConfig.DEFAULT));
      client.cancel();
      assertEquals("CANCELLED", message(executing.get(20, TimeUnit.SECONDS)));
    }
  }

  @Test
  void severalAtOnceNeedAThreadOfTheServer() throws Exception {
    Threaded model = new Threaded();
    try (BurstClient client = service.open(model, settings(2, 2, true))) {
      assertFalse(client.isServedByCaller());
      assertNull(client.execute(request, ExecutionConfig.DEFAULT));
      assertEquals(ErrorStatus.NONE, execute(client, request));
      assertNotSame(Thread.currentThread(), model.thread);
    }
  }

  @Test
  void eachWayToStopAnExecutionHolds() throws Exception {
    Endless model = new Endless();
    try (BurstClient client = open(model)) {
      assertTrue(
          client.send(
              request, ExecutionConfig.DEFAULT.with(Deadline.after(Duration.ofMillis(20)))));
      assertEquals("DEADLINE", message(client.receive(PATIENCE)));

      assertTrue(
          client.send(
              request,
              ExecutionConfig.DEFAULT.with(
                  () -> model.executions > 1 ? Signal.CANCELLED : Signal.CONTINUE)));
      assertEquals("CANCELLED", message(client.receive(PATIENCE)), "by the control of the caller");

      assertTrue(client.send(request, ExecutionConfig.DEFAULT));
      Thread.ofVirtual()
          .start(
              () -> {
                while (model.executions < 3) {
                  Thread.onSpinWait();
                }
                client.cancel();
              });
      assertEquals("CANCELLED", message(client.receive(PATIENCE)), "by another thread");

      assertTrue(client.send(request, ExecutionConfig.DEFAULT));
      client.cancel();
      assertEquals("the execution was cancelled", message(client.receive(PATIENCE)));
      assertEquals(3, model.executions);
    }
  }

  @Test
  void whateverADriverThrowsIsAFailureAndTheBurstGoesOn() throws Exception {
    Doubler model = throwing(new AssertionError("broken"));
    try (BurstClient client = open(model)) {
      assertTrue(client.send(request, ExecutionConfig.DEFAULT));
      assertEquals(
          "the device threw java.lang.AssertionError: broken", message(client.receive(PATIENCE)));
      assertEquals(ErrorStatus.NONE, execute(client, request));
    }
  }

  @Test
  void closingWhileAnotherThreadServesStopsIt() throws Exception {
    Endless model = new Endless();
    SharedMemory own = SharedMemory.allocate(MemoryKind.ASHMEM, 64);
    BurstClient client = open(model);
    FutureTask<ErrorStatus> executing =
        new FutureTask<>(() -> execute(client, Doubler.request(own, 0, out, 0)));
    Thread.ofPlatform().start(executing);
    model.begun.await();
    client.close();
    assertEquals(ErrorStatus.DEVICE_UNAVAILABLE, executing.get(20, TimeUnit.SECONDS));
    assertTrue(client.isBroken());
    own.close();
    assertThrows(IllegalStateException.class, own::lend, "it is unmapped");
  }

  @Test
  void closingInsideAnExecutionEndsTheBurstBehindIt() throws Exception {
    BurstClient[] client = new BurstClient[1];
    Doubler model =
        new Doubler() {
          @Override
          public ExecutionResult execute(Request wanted, ExecutionConfig config) {
            client[0].close();
            return config.control().checkpoint() == Signal.CANCELLED
                ? super.execute(wanted, config)
                : new Failed(ErrorStatus.GENERAL_FAILURE, "it does not stop");
          }
        };
    SharedMemory own = SharedMemory.allocate(MemoryKind.ASHMEM, 64);
    client[0] = open(model);
    assertEquals(
        ErrorStatus.DEVICE_UNAVAILABLE, execute(client[0], Doubler.request(own, 0, own, 8)));
    assertEquals(1, model.executions);
    assertEquals(0, client[0].underWay());
    own.close();
    assertThrows(IllegalStateException.class, own::lend, "it is unmapped");
  }

  @Test
  void aMemoryOfTheLastRequestIsUnmappedWhenItIsClosed() throws Exception {
    try (BurstClient client = open(new Doubler())) {
      for (int i = 0; i < 3; i++) {
        SharedMemory own = SharedMemory.allocate(MemoryKind.ASHMEM, 64);
        Request repeated = Doubler.request(own, 0, out, 0);
        assertEquals(Doubler.DONE, client.execute(repeated, ExecutionConfig.DEFAULT));
        assertEquals(Doubler.DONE, client.execute(repeated, ExecutionConfig.DEFAULT));
        assertEquals(ErrorStatus.NONE, execute(client, repeated));
        own.close();
        assertThrows(IllegalStateException.class, own::lend, "it is unmapped");
        assertNull(client.execute(repeated, ExecutionConfig.DEFAULT), "its memory is closed");
      }
    }
  }

  @Test
  void aMemoryThatIsClosedDuringAnExecutionIsUnmappedAtItsEnd() throws Exception {
    Endless model = new Endless();
    SharedMemory own = SharedMemory.allocate(MemoryKind.ASHMEM, 64);
    try (BurstClient client = open(model)) {
      FutureTask<ExecutionResult> executing =
          new FutureTask<>(
              () -> client.execute(Doubler.request(own, 0, out, 0), ExecutionConfig.DEFAULT));
      Thread.ofPlatform().start(executing);
      model.begun.await();
      own.close();
      own.lend().close();
      client.cancel();
      assertEquals("CANCELLED", message(executing.get(20, TimeUnit.SECONDS)));
      assertThrows(IllegalStateException.class, own::lend, "it is unmapped");
    }
  }

  @Test
  void noMemoryStaysMappedThatAnotherThreadCloses() throws Exception {
    SynchronousQueue<SharedMemory> toClose = new SynchronousQueue<>();
    int count = 2000;
    FutureTask<Void> closing =
        new FutureTask<>(
            () -> {
              for (int i = 0; i < count; i++) {
                toClose.take().close();
              }
              return null;
            });
    Thread.ofPlatform().start(closing);
    List<SharedMemory> all = new ArrayList<>();
    try (BurstClient client = open(new Doubler())) {
      for (int i = 0; i < count; i++) {
        SharedMemory own = SharedMemory.allocate(MemoryKind.ASHMEM, 64);
        all.add(own);
        Request repeated = Doubler.request(own, 0, out, 0);
        assertEquals(Doubler.DONE, client.execute(repeated, ExecutionConfig.DEFAULT));
        assertTrue(toClose.offer(own, 20, TimeUnit.SECONDS));
        // Until it is closed, which may be in the middle of an execution, or between two.
        while (client.execute(repeated, ExecutionConfig.DEFAULT) != null) {
          Thread.onSpinWait();
        }
      }
      closing.get(20, TimeUnit.SECONDS);
      for (SharedMemory own : all) {
        assertThrows(IllegalStateException.class, own::lend, "it is unmapped");
      }
    }
  }

  @Test
  void aRequestThatNobodyReceivesIsNotExecuted() throws Exception {
    Doubler model = new Doubler();
    SharedMemory own = SharedMemory.allocate(MemoryKind.ASHMEM, 64);
    BurstClient client = open(model);
    assertTrue(client.send(Doubler.request(own, 0, own, 8), ExecutionConfig.DEFAULT));
    client.close();
    assertEquals(0, model.executions);
    own.close();
    assertThrows(IllegalStateException.class, own::lend, "it is unmapped");
  }

  @Test
  void aServerThatEndsIsNoticed() throws Exception {
    QueueBurstService drivers = new QueueBurstService();
    Doubler model =
        new Doubler() {
          @Override
          public BurstContext configureExecutionBurst(BurstConfig config) throws DeviceException {
            return drivers.serve(config, this);
          }
        };
    try (BurstClient client = open(model)) {
      assertEquals(ErrorStatus.NONE, execute(client, request));
      assertTrue(client.send(request, ExecutionConfig.DEFAULT));
      drivers.close();
      assertEquals(ErrorStatus.DEVICE_UNAVAILABLE, client.receive(PATIENCE).status());
      assertTrue(client.isBroken());
    }
  }
}
