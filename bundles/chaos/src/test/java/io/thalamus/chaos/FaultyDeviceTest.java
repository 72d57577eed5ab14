// SPDX-License-Identifier: Apache-2.0
package io.thalamus.chaos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.hal.BufferDesc;
import io.thalamus.hal.BufferRole;
import io.thalamus.hal.BurstConfig;
import io.thalamus.hal.BurstContext;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.FencedExecution;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.Request.Pointer;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Deadline;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Shape;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Each fault on a device that only copies. */
@Timeout(60)
class FaultyDeviceTest {
  private static final String THREAD = "test-faults";
  private static final long PATIENCE_MILLIS = 60_000;

  private final CopyDevice copy = new CopyDevice();
  private final BlockingQueue<String> presence = new LinkedBlockingQueue<>();

  /** Keeps a lost device away for longer than its rule says, as long as a test wants. */
  private CountDownLatch absence = new CountDownLatch(0);

  private final FaultInjector injector =
      new FaultInjector(
          new ServiceSwitch() {
            @Override
            public void leave() {
              presence.add("left");
              try {
                absence.await();
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt(); // the injector is being closed
              }
            }

            @Override
            public void comeBack() {
              presence.add("back");
            }
          },
          THREAD + "-" + System.identityHashCode(this));
  private final FaultyDevice device = new FaultyDevice(copy, injector);
  private final SharedMemory memory = CopyDevice.memory();

  @AfterEach
  void close() throws InterruptedException {
    device.close();
    injector.close();
    memory.close();
    String name = THREAD + "-" + System.identityHashCode(this);
    for (Thread thread : Thread.getAllStackTraces().keySet()) {
      if (thread.getName().equals(name)) {
        // An executor is terminated a moment before its thread has ended.
        thread.join(PATIENCE_MILLIS);
        assertFalse(thread.isAlive());
      }
    }
  }

  private PreparedModel prepare() throws DeviceException {
    return device.prepare(null, PrepareConfig.DEFAULT);
  }

  private void script(String text) throws FaultScriptException {
    injector.add(FaultPlan.parse(text));
  }

  private ExecutionResult execute(PreparedModel model) {
    memory.segment().asSlice(CopyDevice.BYTES, CopyDevice.BYTES).fill((byte) 0);
    return model.execute(CopyDevice.request(memory), ExecutionConfig.DEFAULT);
  }

  private List<ErrorStatus> execute(PreparedModel model, int times) {
    List<ErrorStatus> statuses = new ArrayList<>();
    for (int i = 0; i < times; i++) {
      statuses.add(execute(model).status());
    }
    return statuses;
  }

  private FutureTask<ExecutionResult> start(PreparedModel model, ExecutionConfig config) {
    FutureTask<ExecutionResult> task =
        new FutureTask<>(() -> model.execute(CopyDevice.request(memory), config));
    Thread.ofPlatform().name("test-caller").start(task);
    return task;
  }

  private void awaitHungCalls(int count) throws InterruptedException {
    while (injector.status().hungCalls() != count) {
      Thread.sleep(1);
    }
  }

  private long injected(Fault.Kind kind) {
    return injector.status().injected(kind);
  }

  @Test
  void withoutRulesNothingHappens() throws Exception {
    PreparedModel model = prepare();
    assertEquals(ErrorStatus.NONE, execute(model).status());
    assertEquals(0, CopyDevice.wrongBits(memory));
    assertEquals(1, injector.status().executions());
    assertEquals(0, injector.status().injected().values().stream().mapToLong(n -> n).sum());
  }

  @Test
  void latencyAddsTime() throws Exception {
    script("latency 30ms");
    PreparedModel model = prepare();
    long start = System.nanoTime();
    assertEquals(ErrorStatus.NONE, execute(model).status());
    assertTrue(System.nanoTime() - start >= 30_000_000);
    assertEquals(0, CopyDevice.wrongBits(memory));
    assertEquals(1, injected(Fault.Kind.LATENCY));
  }

  @Test
  void latencyHeedsControlAndDeadlineAndReset() throws Exception {
    script("latency 1000s");
    PreparedModel model = prepare();
    AtomicInteger asked = new AtomicInteger();
    ExecutionConfig cancelling =
        ExecutionConfig.DEFAULT.with(
            () -> asked.incrementAndGet() < 3 ? Signal.CONTINUE : Signal.CANCELLED);
    assertEquals(
        ErrorStatus.GENERAL_FAILURE,
        model.execute(CopyDevice.request(memory), cancelling).status());
    assertEquals(3, asked.get());
    ExecutionConfig hurried = ExecutionConfig.DEFAULT.with(Deadline.after(Duration.ofMillis(20)));
    assertEquals(
        ErrorStatus.MISSED_DEADLINE_TRANSIENT,
        model.execute(CopyDevice.request(memory), hurried).status());
    assertEquals(0, copy.executions.get());
    FutureTask<ExecutionResult> slow = start(model, ExecutionConfig.DEFAULT);
    while (injected(Fault.Kind.LATENCY) < 3) {
      Thread.sleep(1);
    }
    injector.reset();
    assertEquals(ErrorStatus.NONE, slow.get().status());
  }

  @Test
  void anInterruptedDelayFailsAndKeepsTheInterrupt() throws Exception {
    script("latency 1000s");
    PreparedModel model = prepare();
    Thread.currentThread().interrupt();
    assertEquals(ErrorStatus.GENERAL_FAILURE, execute(model).status());
    assertTrue(Thread.interrupted());
  }

  @Test
  void aHungDeviceIsDeafUntilItIsReset() throws Exception {
    script("after 2 executions hang");
    PreparedModel model = prepare();
    assertEquals(List.of(ErrorStatus.NONE, ErrorStatus.NONE), execute(model, 2));
    ExecutionConfig impatient =
        ExecutionConfig.DEFAULT
            .with(Deadline.after(Duration.ofMillis(1)))
            .with(() -> Signal.CANCELLED);
    FutureTask<ExecutionResult> first = start(model, impatient);
    awaitHungCalls(1);
    FutureTask<ExecutionResult> second = start(model, ExecutionConfig.DEFAULT);
    FutureTask<PreparedModel> third = new FutureTask<>(this::prepare);
    Thread.ofPlatform().name("test-caller").start(third);
    awaitHungCalls(3);
    assertThrows(TimeoutException.class, () -> first.get(20, TimeUnit.MILLISECONDS));
    assertTrue(injector.status().hung());
    assertEquals(3, injected(Fault.Kind.HANG));

    injector.reset();
    assertEquals(ErrorStatus.GENERAL_FAILURE, first.get().status());
    assertEquals(ErrorStatus.GENERAL_FAILURE, second.get().status());
    assertInstanceOf(
        DeviceException.class, assertThrows(ExecutionException.class, third::get).getCause());
    assertFalse(injector.status().hung());
    assertEquals(0, injector.status().hungCalls());
    assertEquals(ErrorStatus.NONE, execute(model).status());
  }

  @Test
  void aHungDeviceIgnoresInterrupts() throws Exception {
    script("hang");
    PreparedModel model = new FaultyPreparedModel(device, copy.new Prepared(), injector, 1);
    FutureTask<Boolean> task =
        new FutureTask<>(
            () -> {
              execute(model);
              return Thread.currentThread().isInterrupted();
            });
    Thread caller = Thread.ofPlatform().name("test-caller").start(task);
    awaitHungCalls(1);
    caller.interrupt();
    assertThrows(TimeoutException.class, () -> task.get(20, TimeUnit.MILLISECONDS));
    injector.reset();
    assertTrue(task.get());
  }

  @Test
  void aHangMayEndByItself() throws Exception {
    PreparedModel model = prepare();
    script("hang for 20ms");
    assertEquals(List.of(ErrorStatus.NONE, ErrorStatus.NONE), execute(model, 2));
    assertEquals(1, injected(Fault.Kind.HANG));
  }

  @Test
  void aDeactivatedDeviceLetsHungCallsGo() throws Exception {
    PreparedModel model = prepare();
    script("hang");
    FutureTask<ExecutionResult> call = start(model, ExecutionConfig.DEFAULT);
    awaitHungCalls(1);
    device.close();
    assertEquals(ErrorStatus.DEVICE_UNAVAILABLE, call.get().status());
    assertEquals(ErrorStatus.DEVICE_UNAVAILABLE, execute(model).status());
    try (FaultyDevice next = new FaultyDevice(copy, injector)) {
      PreparedModel healthy = next.prepare(null, PrepareConfig.DEFAULT);
      assertEquals(ErrorStatus.NONE, execute(healthy).status());
      assertEquals(ErrorStatus.DEVICE_UNAVAILABLE, execute(model).status());
    }
  }

  @Test
  void closingTheInjectorLetsHungCallsGo() throws Exception {
    PreparedModel model = prepare();
    script("hang");
    FutureTask<ExecutionResult> call = start(model, ExecutionConfig.DEFAULT);
    awaitHungCalls(1);
    injector.close();
    assertEquals(ErrorStatus.GENERAL_FAILURE, call.get().status());
  }

  @Test
  void crashesFailExecutions() throws Exception {
    script("every 3 crash\nafter 4 once crash DEVICE_UNAVAILABLE");
    assertEquals(
        List.of(
            ErrorStatus.NONE,
            ErrorStatus.NONE,
            ErrorStatus.GENERAL_FAILURE,
            ErrorStatus.NONE,
            ErrorStatus.DEVICE_UNAVAILABLE,
            ErrorStatus.GENERAL_FAILURE,
            ErrorStatus.NONE),
        execute(prepare(), 7));
    assertEquals(3, injected(Fault.Kind.CRASH));
    assertEquals(4, copy.executions.get());
  }

  @Test
  void wrongAnswersHaveFlippedBitsThatTheSeedRepeats() throws Exception {
    script("wrong 3 seed 11");
    PreparedModel model = prepare();
    List<BitSet> first = answers(model);
    injector.reset();
    script("wrong 3 seed 11");
    assertEquals(first, answers(model));
    injector.reset();
    script("wrong 3 seed 12");
    assertNotEquals(first, answers(model));
    assertEquals(30, injected(Fault.Kind.WRONG));
  }

  private List<BitSet> answers(PreparedModel model) {
    List<BitSet> answers = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      assertEquals(ErrorStatus.NONE, execute(model).status());
      assertEquals(3, CopyDevice.wrongBits(memory));
      answers.add(CopyDevice.bits(memory.segment().asSlice(CopyDevice.BYTES, CopyDevice.BYTES)));
      assertNotEquals(answers.getFirst(), i == 0 ? null : answers.get(i));
    }
    return answers;
  }

  @Test
  void aRateOfWrongAnswersIsCounted() throws Exception {
    script("rate 0.1 seed 5 wrong");
    PreparedModel model = prepare();
    int wrong = 0;
    for (int i = 0; i < 1000; i++) {
      execute(model);
      wrong += CopyDevice.wrongBits(memory);
    }
    assertTrue(wrong > 60 && wrong < 140, "wrong " + wrong);
    assertEquals(wrong, injected(Fault.Kind.WRONG));
  }

  @Test
  void fencedAnswersAreFalsifiedWhenTheyAreThere() throws Exception {
    script("wrong");
    FencedExecution execution =
        prepare().executeFenced(CopyDevice.request(memory), List.of(), ExecutionConfig.DEFAULT);
    assertFalse(execution.syncFence().isDone());
    assertEquals(0, CopyDevice.wrongBits(memory));
    copy.fence.signal();
    execution.syncFence().future().get();
    assertEquals(1, CopyDevice.wrongBits(memory));
    assertEquals(ErrorStatus.NONE, execution.executionInfo().get().result().status());
  }

  @Test
  void outputsInTheCallersMemoryAreFlippedToo() throws Exception {
    script("wrong 3");
    PreparedModel model = prepare();
    MemorySegment segment = memory.segment();
    Request request =
        new Request(
            List.of(new Pointer(segment.asSlice(0, CopyDevice.BYTES), Shape.NONE)),
            List.of(new Pointer(segment.asSlice(CopyDevice.BYTES, CopyDevice.BYTES), Shape.NONE)),
            List.of());
    assertEquals(ErrorStatus.NONE, model.execute(request, ExecutionConfig.DEFAULT).status());
    assertEquals(3, CopyDevice.wrongBits(memory));
  }

  @Test
  void fencedExecutionsFailToo() throws Exception {
    script("crash");
    PreparedModel model = prepare();
    DeviceException e =
        assertThrows(
            DeviceException.class,
            () ->
                model.executeFenced(
                    CopyDevice.request(memory), List.of(), ExecutionConfig.DEFAULT));
    assertEquals(ErrorStatus.GENERAL_FAILURE, e.status());
  }

  @Test
  void burstsOfTheDeviceWithinDoNotPassTheFaultsBy() throws Exception {
    PreparedModel serving =
        new PreparedModel() {
          @Override
          public ExecutionResult execute(Request request, ExecutionConfig config) {
            throw new AssertionError("only its burst is asked for");
          }

          @Override
          public BurstContext configureExecutionBurst(BurstConfig config) {
            throw new AssertionError("its requests would pass the faults by");
          }

          @Override
          public void close() {
            // Nothing is open.
          }
        };
    PreparedModel model = new FaultyPreparedModel(device, serving, injector, 1);
    DeviceException e =
        assertThrows(DeviceException.class, () -> model.configureExecutionBurst(null));
    assertEquals(ErrorStatus.GENERAL_FAILURE, e.status(), "then each request is an execution");
  }

  @Test
  void exhaustionPasses() throws Exception {
    script("exhaust 2");
    assertEquals(2, injector.status().refusals());
    DeviceException e = assertThrows(DeviceException.class, this::prepare);
    assertEquals(ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT, e.status());
    PreparedModel model = new FaultyPreparedModel(device, copy.new Prepared(), injector, 1);
    assertEquals(
        List.of(ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT, ErrorStatus.NONE), execute(model, 2));
    assertEquals(2, injected(Fault.Kind.EXHAUST));
  }

  @Test
  void exhaustionLastsUntilAReset() throws Exception {
    script("after 1 exhaust");
    PreparedModel model = prepare();
    assertEquals(
        List.of(
            ErrorStatus.NONE,
            ErrorStatus.RESOURCE_EXHAUSTED_PERSISTENT,
            ErrorStatus.RESOURCE_EXHAUSTED_PERSISTENT),
        execute(model, 3));
    assertTrue(injector.status().exhausted());
    injector.reset();
    assertEquals(ErrorStatus.NONE, execute(model).status());
    assertEquals(2, injected(Fault.Kind.EXHAUST));
  }

  @Test
  void aLostDeviceComesBack() throws Exception {
    absence = new CountDownLatch(1);
    PreparedModel model = prepare();
    long start = System.nanoTime();
    script("lose for 50ms");
    assertEquals("left", presence.take());
    assertEquals(ErrorStatus.DEVICE_UNAVAILABLE, execute(model).status());
    assertTrue(injector.status().lost());
    script("lose for 1ms"); // it is away already
    absence.countDown();
    assertEquals("back", presence.take());
    assertTrue(System.nanoTime() - start >= 50_000_000);
    assertEquals(ErrorStatus.NONE, execute(model).status());
    assertEquals(1, injected(Fault.Kind.LOSE));
  }

  @Test
  void anExecutionMayLoseTheDevice() throws Exception {
    absence = new CountDownLatch(1);
    script("after 1 executions lose for 1ms");
    PreparedModel model = prepare();
    assertEquals(ErrorStatus.NONE, execute(model).status());
    assertEquals(ErrorStatus.DEVICE_UNAVAILABLE, execute(model).status());
    assertEquals("left", presence.take());
    absence.countDown();
    assertEquals("back", presence.take());
    assertEquals(List.of(ErrorStatus.NONE, ErrorStatus.NONE), execute(model, 2));
  }

  @Test
  void aClosedInjectorLosesNothing() throws Exception {
    injector.close();
    script("lose for 1ms");
    assertFalse(injector.status().lost());
    assertEquals(0, presence.size());
  }

  @Test
  void theDeviceWithinMeetsOnlyItsOwnModels() throws Exception {
    PreparedModel model = prepare();
    PreparedModel foreign = copy.new Prepared();
    assertThrows(
        DeviceException.class,
        () ->
            device.allocate(
                new BufferDesc(Shape.NONE),
                List.of(
                    new BufferRole(model, BufferRole.Direction.INPUT, 1, 0.5f),
                    new BufferRole(foreign, BufferRole.Direction.OUTPUT, 0, 1f))));
    assertInstanceOf(CopyDevice.Prepared.class, copy.roles.getFirst().model());
    assertEquals(BufferRole.Direction.INPUT, copy.roles.getFirst().direction());
    assertEquals(1, copy.roles.getFirst().index());
    assertSame(foreign, copy.roles.getLast().model());
    assertEquals("test-copy", device.info().name());
  }

  @Test
  void rulesCountFromTheMomentTheyAreGiven() throws Exception {
    PreparedModel model = prepare();
    execute(model, 5);
    script("after 2 once crash");
    assertEquals(
        List.of(ErrorStatus.NONE, ErrorStatus.NONE, ErrorStatus.GENERAL_FAILURE, ErrorStatus.NONE),
        execute(model, 4));
    assertEquals(9, injector.status().executions());
    assertEquals(1, injector.status().rules().size());
  }
}
