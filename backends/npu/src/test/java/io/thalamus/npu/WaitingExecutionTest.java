// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.thalamus.cache.NoCacheEngine;
import io.thalamus.driver.BurstSource;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.Deadline;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Priority;
import io.thalamus.model.Quantization;
import io.thalamus.npu.NpuDevice.Host;
import io.thalamus.tck.check.TestGraph;
import io.thalamus.tck.check.TestRequest;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** An execution that waits while another has the device, and has to stop before its turn. */
@Timeout(120)
class WaitingExecutionTest {
  private static final byte[] VALUES = {1, 2, 3, 5, 8};
  private static final byte[] DOUBLED = {2, 4, 6, 10, 16};

  private final AtomicBoolean isLeaving = new AtomicBoolean();
  private final NpuDevice device =
      new NpuDevice(
          "1.0.0",
          NpuConfig.standard().withSearch(0, false, 1),
          new NoCacheEngine(),
          new Host(BurstSource.NONE, InstantSource.system(), isLeaving::get));
  private final Model model = doubling();
  private final List<TestRequest> requests = new ArrayList<>();
  private final CountDownLatch mayGoOn = new CountDownLatch(1);
  private FutureTask<ExecutionResult> holder;

  private static Model doubling() {
    Quantization one = Quantization.of(1, 0);
    try (TestGraph graph = new TestGraph()) {
      int input = graph.input(TENSOR_QUANT8_ASYMM, one, 1, VALUES.length);
      int output = graph.output(TENSOR_QUANT8_ASYMM, one, 1, VALUES.length);
      graph.operation(OperationCode.ADD, List.of(input, input, graph.int32(0)), output);
      return graph.model();
    }
  }

  private PreparedModel prepare(Priority priority) throws Exception {
    return device.prepare(model, PrepareConfig.DEFAULT.with(priority));
  }

  private TestRequest request() {
    TestRequest request = TestRequest.of(model.main(), VALUES);
    requests.add(request);
    return request;
  }

  private static FutureTask<ExecutionResult> start(
      PreparedModel prepared, TestRequest request, ExecutionConfig config) {
    FutureTask<ExecutionResult> task =
        new FutureTask<>(() -> prepared.execute(request.request(), config));
    Thread.ofPlatform().name("test-execution").daemon().start(task);
    return task;
  }

  private FutureTask<ExecutionResult> startWaiting(PreparedModel prepared, ExecutionConfig config)
      throws InterruptedException {
    int before = device.activity().waiting();
    FutureTask<ExecutionResult> task = start(prepared, request(), config);
    while (device.activity().waiting() == before) {
      Thread.sleep(1);
    }
    return task;
  }

  @BeforeEach
  void takeTheDevice() throws Exception {
    CountDownLatch hasDevice = new CountDownLatch(1);
    ExecutionControl blocking =
        new ExecutionControl() {
          @Override
          public Signal checkpoint() {
            return Signal.CONTINUE;
          }

          @Override
          public Signal status() {
            hasDevice.countDown();
            try {
              mayGoOn.await();
            } catch (InterruptedException e) {
              Thread.currentThread().interrupt();
            }
            return Signal.CONTINUE;
          }
        };
    holder = start(prepare(Priority.HIGH), request(), ExecutionConfig.DEFAULT.with(blocking));
    hasDevice.await();
  }

  @AfterEach
  void close() {
    mayGoOn.countDown();
    device.close();
    requests.forEach(TestRequest::close);
  }

  private static void assertFailed(ErrorStatus status, FutureTask<ExecutionResult> task)
      throws Exception {
    assertEquals(status, assertInstanceOf(Failed.class, task.get()).status());
  }

  private void assertTheHolderEndsWell() throws Exception {
    assertEquals(0, device.activity().waiting());
    mayGoOn.countDown();
    assertInstanceOf(Completed.class, holder.get());
    assertArrayEquals(DOUBLED, requests.getFirst().output(0));
  }

  /** The control of an execution that notes when it runs. */
  private record Noting(String name, Optional<Priority> executionPriority, Set<String> ran)
      implements ExecutionControl {
    @Override
    public Signal checkpoint() {
      return Signal.CONTINUE;
    }

    /** The device asks this of an execution that has it, between two commands. */
    @Override
    public boolean isPauseWanted() {
      ran.add(name);
      return false;
    }
  }

  @Test
  void anExecutionHasItsOwnRank() throws Exception {
    Set<String> ran = Collections.synchronizedSet(new LinkedHashSet<>());
    try (PreparedModel prepared = prepare(Priority.LOW)) {
      FutureTask<ExecutionResult> usual =
          startWaiting(
              prepared, ExecutionConfig.DEFAULT.with(new Noting("usual", Optional.empty(), ran)));
      FutureTask<ExecutionResult> urgent =
          startWaiting(
              prepared,
              ExecutionConfig.DEFAULT.with(
                  new Noting("urgent", Optional.of(Priority.HIGH), ran).until(() -> false, null)));
      mayGoOn.countDown();
      assertInstanceOf(Completed.class, urgent.get());
      assertInstanceOf(Completed.class, usual.get());
    }
    assertEquals(List.of("urgent", "usual"), List.copyOf(ran));
  }

  private WeakReference<?> cancelWhileItWaits() throws Exception {
    AtomicBoolean isCancelled = new AtomicBoolean();
    try (PreparedModel prepared = prepare(Priority.LOW)) {
      FutureTask<ExecutionResult> waiting =
          startWaiting(
              prepared,
              ExecutionConfig.DEFAULT.with(
                  ExecutionControl.NONE.until(
                      isCancelled::get, ExecutionControl.Signal.CANCELLED)));
      isCancelled.set(true);
      assertFailed(ErrorStatus.GENERAL_FAILURE, waiting);
      return new WeakReference<>(prepared);
    }
  }

  @Test
  void aCancelledOneLeavesAtOnceAndKeepsNothing() throws Exception {
    WeakReference<?> cancelled = cancelWhileItWaits();
    for (int i = 0; i < 500 && cancelled.get() != null; i++) {
      System.gc();
      Thread.sleep(10);
    }
    assertNull(cancelled.get(), "the model of a cancelled execution is still held");
    assertTheHolderEndsWell();
  }

  @Test
  void aDeadlineIsMetInTheQueue() throws Exception {
    AtomicLong now = new AtomicLong();
    FutureTask<ExecutionResult> waiting =
        startWaiting(
            prepare(Priority.LOW),
            ExecutionConfig.DEFAULT.with(Deadline.after(Duration.ofNanos(1), now::get)));
    now.incrementAndGet();
    assertFailed(ErrorStatus.MISSED_DEADLINE_TRANSIENT, waiting);
    assertTheHolderEndsWell();
  }

  @Test
  void aDeviceThatIsAboutToLeaveKeepsNobodyWaiting() throws Exception {
    FutureTask<ExecutionResult> waiting =
        startWaiting(prepare(Priority.LOW), ExecutionConfig.DEFAULT);
    isLeaving.set(true);
    assertFailed(ErrorStatus.DEVICE_UNAVAILABLE, waiting);
    assertTheHolderEndsWell();
  }

  @Test
  void aClosedDeviceEndsAll() throws Exception {
    PreparedModel low = prepare(Priority.LOW);
    FutureTask<ExecutionResult> one = startWaiting(low, ExecutionConfig.DEFAULT);
    FutureTask<ExecutionResult> two = startWaiting(low, ExecutionConfig.DEFAULT);
    device.close();
    assertFailed(ErrorStatus.DEVICE_UNAVAILABLE, one);
    assertFailed(ErrorStatus.DEVICE_UNAVAILABLE, two);
    mayGoOn.countDown();
    assertFailed(ErrorStatus.DEVICE_UNAVAILABLE, start(low, request(), ExecutionConfig.DEFAULT));
  }

  @Test
  void theTimeOfOthersIsToldOnceTheyHaveComeFurther() throws Exception {
    AtomicLong now = new AtomicLong();
    AtomicLong told = new AtomicLong();
    ExecutionControl control =
        new ExecutionControl() {
          @Override
          public Signal checkpoint() {
            return Signal.CONTINUE;
          }

          @Override
          public void spentOnOthers(long nanos) {
            told.addAndGet(nanos);
          }
        };
    FutureTask<ExecutionResult> waiting =
        startWaiting(
            prepare(Priority.LOW),
            ExecutionConfig.DEFAULT.with(control).with(Deadline.never(now::get)));
    now.set(100);
    Thread.sleep(20);
    assertEquals(0, told.get(), "the device hangs for all that it knows");
    mayGoOn.countDown();
    assertInstanceOf(Completed.class, waiting.get());
    assertEquals(100, told.get());
  }

  @Test
  void whatIsAskedOfAWaitingOneIsItsStatusAlone() throws Exception {
    AtomicLong checkpoints = new AtomicLong();
    ExecutionControl control =
        new ExecutionControl() {
          @Override
          public Signal checkpoint() {
            checkpoints.incrementAndGet();
            return Signal.CONTINUE;
          }

          @Override
          public Signal status() {
            return Signal.CONTINUE;
          }
        };
    FutureTask<ExecutionResult> waiting =
        startWaiting(prepare(Priority.LOW), ExecutionConfig.DEFAULT.with(control));
    Thread.sleep(20);
    assertEquals(1, checkpoints.get(), "the one before it wants the device");
    mayGoOn.countDown();
    assertInstanceOf(Completed.class, waiting.get());
    assertEquals(1, checkpoints.get(), "it could pause while it has the device");
  }
}
