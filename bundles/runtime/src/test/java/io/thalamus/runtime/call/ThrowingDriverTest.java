// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.call;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.DeviceDescription;
import io.thalamus.api.DeviceDescription.State;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.Plan;
import io.thalamus.api.ResultCode;
import io.thalamus.hal.BufferDesc;
import io.thalamus.hal.BufferRole;
import io.thalamus.hal.BufferRole.Direction;
import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.DeviceType;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.runtime.call.Terms.Admission;
import io.thalamus.runtime.fakes.FaultyDevice;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.SteppedTime;
import io.thalamus.runtime.fakes.TestRuntime;
import io.thalamus.runtime.registry.DeviceMemory;
import io.thalamus.runtime.registry.DevicePreparedModel;
import io.thalamus.runtime.registry.RegisteredDevice;
import java.io.IOException;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Drivers that throw what no signature announces, on devices that are called in threads of the
 * runtime and in those of their callers. The clock stands still: a caller that waits out its limit
 * waits for ever.
 */
class ThrowingDriverTest {
  private static final long PATIENCE_SECONDS = 10;

  private final SteppedTime time = new SteppedTime();
  private final LimitedDevice cpu = LimitedDevice.cpu();
  private final TestRuntime runtime = TestRuntime.stepped(time, TestRuntime.SETTINGS, cpu);
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private LimitedDevice inner;

  @AfterEach
  void closeAll() {
    // First: a caller that waits for ever lets go of its device then.
    runtime.close();
    threads.shutdownNow();
    assertEquals(0, cpu.open() + (inner == null ? 0 : inner.open()), "left open");
  }

  /** A driver's mistake, by its name. */
  private record Mistake(String name, Throwable thrown) {
    @Override
    public String toString() {
      return name;
    }
  }

  static Stream<Arguments> mistakes() {
    List<Mistake> mistakes =
        List.of(
            new Mistake("page", new InternalError("a fault occurred in an unsafe memory access")),
            new Mistake("memory", new OutOfMemoryError("Java heap space")),
            new Mistake("machine", new UnknownError("of the machine")),
            new Mistake("stack", new StackOverflowError()),
            new Mistake("assertion", new AssertionError("cannot happen")),
            new Mistake("linkage", new NoClassDefFoundError("gone/with/the/Bundle")),
            new Mistake("error", new Error("of its own")),
            new Mistake("unchecked", new IllegalStateException("boom")),
            new Mistake("undeclared", new IOException("not in the signature")),
            new Mistake("neither exception nor error", new Throwable("of another language")));
    List<Arguments> all = new ArrayList<>();
    for (DeviceType type : List.of(DeviceType.ACCELERATOR, DeviceType.CPU)) {
      mistakes.forEach(mistake -> all.add(Arguments.of(type, mistake)));
    }
    return all.stream();
  }

  private FaultyDevice add(DeviceType type) {
    inner =
        new LimitedDevice(
            LimitedDevice.info("test-npu", type, 0.5).build(),
            (graph, operation) ->
                List.of(OperationCode.ADD, OperationCode.MUL).contains(operation.type()));
    FaultyDevice device = new FaultyDevice(inner);
    runtime.add(device);
    return device;
  }

  @SuppressWarnings("unchecked") // The caller's compiler does not check what is thrown.
  private static <E extends Throwable, T> T fail(Mistake mistake) throws E {
    throw (E) mistake.thrown();
  }

  private <T> T within(Callable<T> task) throws Exception {
    return threads.submit(task).get(PATIENCE_SECONDS, TimeUnit.SECONDS);
  }

  private Compilation compile() throws Exception {
    return within(
        () -> runtime.networks().compile(Graphs.addThenMul(), CompilationOptions.DEFAULT));
  }

  private static List<String> planned(Compilation compilation) {
    return compilation.plan().steps().stream().map(Plan.Step::device).toList();
  }

  private void assertServesWithOneFailure() {
    DeviceDescription shown = runtime.networks().devices().get(0);
    assertEquals("npu", shown.id());
    assertEquals(State.AVAILABLE, shown.state(), shown.reason());
    assertEquals(1, shown.health().failures());
    assertEquals(List.of(), shown.health().stuckCalls());
  }

  @ParameterizedTest
  @MethodSource("mistakes")
  void anExecutionThatThrowsIsRepeatedElsewhereAtOnce(DeviceType type, Mistake mistake)
      throws Exception {
    FaultyDevice device = add(type);
    Compilation compilation = compile();
    assertEquals(List.of("npu"), planned(compilation));
    device.onExecute(
        (request, config) -> ThrowingDriverTest.<RuntimeException, ExecutionResult>fail(mistake));
    float[] result = new float[4];
    ExecutionReport report =
        within(() -> Graphs.addThenMulExecution(compilation, result).compute());
    assertTrue(report.isSuccess(), report.message());
    assertArrayEquals(Graphs.addThenMulResult(), result);
    assertEquals(List.of("npu", "cpu"), Graphs.ranOn(report));
    assertEquals(
        mistake.thrown() instanceof OutOfMemoryError
            ? ResultCode.RESOURCE_EXHAUSTED_TRANSIENT
            : ResultCode.OP_FAILED,
        report.steps().get(0).code());
    assertServesWithOneFailure();
    device.onExecute(null);
    assertEquals(
        List.of("npu"),
        Graphs.ranOn(
            within(() -> Graphs.addThenMulExecution(compilation, new float[4]).compute())));
  }

  @ParameterizedTest
  @MethodSource("mistakes")
  void aModelWhosePrepareThrowsIsPlannedElsewhereAtOnce(DeviceType type, Mistake mistake)
      throws Exception {
    FaultyDevice device = add(type);
    device.onPrepare(model -> ThrowingDriverTest.<RuntimeException, Void>fail(mistake));
    assertEquals(List.of("cpu"), planned(compile()));
    assertServesWithOneFailure();
    device.onPrepare(null);
    assertEquals(List.of("npu"), planned(compile()));
  }

  @ParameterizedTest
  @MethodSource("mistakes")
  void aPromiseThatThrowsIsNone(DeviceType type, Mistake mistake) throws Exception {
    FaultyDevice device = add(type);
    device.onSupport(model -> ThrowingDriverTest.<RuntimeException, BitSet>fail(mistake));
    assertEquals(List.of("cpu"), planned(compile()));
    assertServesWithOneFailure();
    device.onSupport(null);
    assertEquals(List.of("npu"), planned(compile()));
  }

  /** A device whose buffers, and whose models when they are closed, throw the same. */
  private final class Closing extends FaultyDevice {
    private final Mistake mistake;

    Closing(DeviceType type, Mistake mistake) {
      super(
          inner =
              new LimitedDevice(
                  LimitedDevice.info("test-npu", type, 0.5).memoryDomain(true).build(),
                  (graph, operation) -> true));
      this.mistake = mistake;
    }

    @Override
    public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
      PreparedModel prepared = super.prepare(model, config);
      return new PreparedModel() {
        @Override
        public ExecutionResult execute(Request request, ExecutionConfig executionConfig) {
          return prepared.execute(request, executionConfig);
        }

        @Override
        public void close() {
          prepared.close();
          ThrowingDriverTest.<RuntimeException, Void>fail(mistake);
        }
      };
    }

    @Override
    public DeviceBuffer allocate(BufferDesc desc, List<BufferRole> roles) {
      return roles.isEmpty()
          ? ThrowingDriverTest.<RuntimeException, DeviceBuffer>fail(mistake)
          : new ThrowingBuffer(mistake);
    }
  }

  private record ThrowingBuffer(Mistake mistake) implements DeviceBuffer {
    @Override
    public int token() {
      return 1;
    }

    @Override
    public void copyTo(SharedMemory destination) {
      ThrowingDriverTest.<RuntimeException, Void>fail(mistake);
    }

    @Override
    public void copyFrom(SharedMemory source, Shape shape) {
      ThrowingDriverTest.<RuntimeException, Void>fail(mistake);
    }

    @Override
    public void close() {
      ThrowingDriverTest.<RuntimeException, Void>fail(mistake);
    }
  }

  private static void assertFailed(Mistake mistake, ErrorStatus status, String message) {
    boolean isMemory = mistake.thrown() instanceof OutOfMemoryError;
    assertEquals(
        isMemory ? ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT : ErrorStatus.GENERAL_FAILURE, status);
    assertTrue(
        message.endsWith((isMemory ? "it ran out of memory: " : "it broke: ") + mistake.thrown()),
        message);
  }

  @ParameterizedTest
  @MethodSource("mistakes")
  void buffersThatThrowFailAtOnceAndAreClosed(DeviceType type, Mistake mistake) throws Exception {
    Closing device = new Closing(type, mistake);
    runtime.add(device);
    RegisteredDevice registered = runtime.registry.devices().get(0);
    DeviceException refusal =
        within(
            () ->
                assertThrows(
                    DeviceException.class,
                    () ->
                        registered.allocate(
                            new BufferDesc(Shape.of(4)), List.of(), departing -> {})));
    assertFailed(mistake, refusal.status(), refusal.getMessage());
    DevicePreparedModel model =
        within(
            () ->
                registered.prepare(
                    Graphs.twice(2, 2), PrepareConfig.DEFAULT, Admission.WHILE_SERVING));
    BufferRole role = new BufferRole(model.unwrap().orElseThrow(), Direction.INPUT, 0, 1);
    try (SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, 16)) {
      DeviceMemory buffer =
          within(
              () ->
                  registered.allocate(
                      new BufferDesc(Shape.of(2, 2)), List.of(role), departing -> {}));
      for (Answer<Void> answer :
          List.of(
              within(() -> buffer.copyTo(memory)),
              within(() -> buffer.copyFrom(memory, Shape.NONE)))) {
        Answer.Failed<?> failed = assertInstanceOf(Answer.Failed.class, answer);
        assertFailed(mistake, failed.status(), failed.message());
      }
      within(
          () -> {
            buffer.close();
            model.close();
            runtime.remove(device);
            return null;
          });
    }
    assertEquals(
        List.of("cpu"), runtime.networks().devices().stream().map(DeviceDescription::id).toList());
  }

  @ParameterizedTest
  @MethodSource("mistakes")
  void aDeviceThatThrowsWhenAskedForFactsIsRefusedAtOnce(DeviceType type, Mistake mistake)
      throws Exception {
    inner = new LimitedDevice(LimitedDevice.info("test-npu", type, 1).build(), (g, o) -> true);
    FaultyDevice mute =
        new FaultyDevice(inner) {
          @Override
          public DeviceInfo info() {
            return ThrowingDriverTest.<RuntimeException, DeviceInfo>fail(mistake);
          }
        };
    within(
        () -> {
          runtime.add(mute);
          return null;
        });
    assertEquals(
        List.of("cpu"), runtime.networks().devices().stream().map(DeviceDescription::id).toList());
  }
}
