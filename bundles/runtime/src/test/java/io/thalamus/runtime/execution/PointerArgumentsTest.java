// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.DeviceDescription;
import io.thalamus.api.DeviceDescription.State;
import io.thalamus.api.Execution;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.ExecutionReport.CopiedBytes;
import io.thalamus.api.ResultCode;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.Request;
import io.thalamus.hal.Request.Location;
import io.thalamus.hal.Request.Pointer;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.DeviceType;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OutputShape;
import io.thalamus.model.Shape;
import io.thalamus.model.Timing;
import io.thalamus.runtime.fakes.FaultyDevice;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.TestRuntime;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Arguments that devices read and write in the memory of the caller. */
class PointerArgumentsTest {
  private static final long BYTES = 16;

  private final Arena arena = Arena.ofConfined();
  private final List<TestRuntime> runtimes = new ArrayList<>();
  private final List<Request> requests = new CopyOnWriteArrayList<>();
  private final FaultyDevice cpu = watched(LimitedDevice.pointers("thalamus-cpu", 1));

  @AfterEach
  void close() {
    runtimes.forEach(TestRuntime::close);
    arena.close();
  }

  private FaultyDevice watched(LimitedDevice device) {
    return new FaultyDevice(device)
        .onExecute(
            (request, config) -> {
              requests.add(request);
              return null;
            });
  }

  private Compilation compile(Model model, CompilationOptions options, FaultyDevice... devices)
      throws Exception {
    TestRuntime runtime = TestRuntime.of(devices);
    runtimes.add(runtime);
    return runtime.networks().compile(model, options);
  }

  private Compilation compile(Model model, FaultyDevice... devices) throws Exception {
    return compile(model, CompilationOptions.DEFAULT, devices);
  }

  private MemorySegment room() {
    return arena.allocate(BYTES, Float.BYTES);
  }

  private MemorySegment floats(float... values) {
    return room().copyFrom(Graphs.floats(values));
  }

  private MemorySegment unaligned(float... values) {
    return arena.allocate(BYTES + 1, Float.BYTES).asSlice(1).copyFrom(Graphs.floats(values));
  }

  private static Execution execution(Compilation compilation, MemorySegment... arguments) {
    Execution execution = compilation.createExecution();
    for (int i = 0; i < arguments.length - 1; i++) {
      execution.setInput(i, arguments[i]);
    }
    return execution.setOutput(0, arguments[arguments.length - 1]);
  }

  private ExecutionReport addThenMul(Compilation compilation, MemorySegment output) {
    return execution(
            compilation, floats(1, 2, 3, 4), floats(10, 20, 30, 40), floats(2, 2, 2, 3), output)
        .compute();
  }

  private static void assertResult(ExecutionReport report, MemorySegment output) {
    assertTrue(report.isSuccess(), report.message());
    assertArrayEquals(Graphs.addThenMulResult(), output.toArray(Graphs.FLOAT));
  }

  private static CopiedBytes arguments(long in, long out) {
    return new CopiedBytes(in, out, 0, 0, 0);
  }

  /** Writes nonsense to all outputs of a request. */
  private static void scribble(Request request) {
    for (Request.Argument output : request.outputs()) {
      LimitedDevice.segment(request, output).fill((byte) 0x7E);
    }
  }

  @Test
  void segmentsOffTheHeapAreUsedInPlace() throws Exception {
    Compilation compilation = compile(Graphs.addThenMul(), cpu);
    for (int i = 0; i < 3; i++) {
      MemorySegment output = room();
      ExecutionReport report = addThenMul(compilation, output);
      assertResult(report, output);
      assertEquals(CopiedBytes.NONE, report.copied());
      Request request = requests.removeLast();
      assertEquals(List.of(), request.pools());
      request
          .inputs()
          .forEach(
              input -> assertTrue(assertInstanceOf(Pointer.class, input).segment().isReadOnly()));
      Pointer to = assertInstanceOf(Pointer.class, request.outputs().getFirst());
      assertEquals(output.address(), to.segment().address());
    }
  }

  @Test
  void segmentsOnTheHeapAndWithoutAlignmentAreCopied() throws Exception {
    Compilation compilation = compile(Graphs.addThenMul(), cpu);
    MemorySegment output = unaligned();
    ExecutionReport report =
        execution(
                compilation,
                Graphs.floats(1, 2, 3, 4),
                unaligned(10, 20, 30, 40),
                floats(2, 2, 2, 3),
                output)
            .compute();
    assertResult(report, output);
    assertEquals(arguments(2 * BYTES, BYTES), report.copied());
    Request request = requests.getFirst();
    assertInstanceOf(Location.class, request.inputs().get(0));
    assertInstanceOf(Location.class, request.inputs().get(1));
    assertInstanceOf(Pointer.class, request.inputs().get(2));
    assertInstanceOf(Location.class, request.outputs().get(0));
  }

  @Test
  void aMappedFileIsCopiedSinceItsPagesCanDisappear(@TempDir Path folder) throws Exception {
    Path file = Files.write(folder.resolve("x"), new byte[(int) BYTES]);
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
      MemorySegment mapped = channel.map(FileChannel.MapMode.READ_ONLY, 0, BYTES, arena);
      Compilation compilation = compile(Graphs.twice(2, 2), cpu);
      ExecutionReport report = execution(compilation, mapped, room()).compute();
      assertEquals(arguments(BYTES, 0), report.copied(), report.message());
    }
  }

  @Test
  void aDeviceThatDoesNotTakePointersGetsCopies() throws Exception {
    FaultyDevice plain = watched(LimitedDevice.cpu());
    MemorySegment output = room();
    ExecutionReport report = addThenMul(compile(Graphs.addThenMul(), plain), output);
    assertResult(report, output);
    assertEquals(arguments(3 * BYTES, BYTES), report.copied());
    requests.getFirst().inputs().forEach(input -> assertInstanceOf(Location.class, input));
  }

  @Test
  void aDeviceThatCanBeAbandonedGetsCopiesWhateverItSays() throws Exception {
    FaultyDevice npu =
        watched(
            new LimitedDevice(
                LimitedDevice.info("test-npu", DeviceType.ACCELERATOR, 0.5)
                    .pointerArguments(true)
                    .build(),
                (graph, operation) -> true));
    MemorySegment output = room();
    ExecutionReport report = addThenMul(compile(Graphs.addThenMul(), npu, cpu), output);
    assertResult(report, output);
    assertEquals(List.of("npu"), Graphs.ranOn(report));
    requests.getFirst().inputs().forEach(input -> assertInstanceOf(Location.class, input));
  }

  @Test
  void onlyTheStepsOfOtherDevicesGetCopies() throws Exception {
    FaultyDevice adder = watched(LimitedDevice.of("adder", 0.5, OperationCode.ADD));
    MemorySegment output = room();
    ExecutionReport report = addThenMul(compile(Graphs.addThenMul(), adder, cpu), output);
    assertResult(report, output);
    assertEquals(List.of("adder", "cpu"), Graphs.ranOn(report));
    assertEquals(arguments(2 * BYTES, 0), report.copied(), "the inputs of ADD");
  }

  @Test
  void anOutputThatALaterStepReadsElsewhereMovesThere() throws Exception {
    Graphs.Builder g = new Graphs.Builder(4);
    int x = g.input("x");
    int square = g.output("square");
    g.op(OperationCode.MUL, x, x, square);
    g.op(OperationCode.ADD, square, x, g.output("sum"));
    FaultyDevice adder = watched(LimitedDevice.of("adder", 0.5, OperationCode.ADD));
    for (boolean isTakenOut : new boolean[] {true, false}) {
      FaultyDevice multiplier =
          watched(LimitedDevice.pointers("test-multiplier", 0.5, OperationCode.MUL));
      Compilation compilation = compile(g.model(), isTakenOut ? adder : multiplier, cpu);
      MemorySegment square0 = room();
      MemorySegment sum = room();
      ExecutionReport report =
          execution(compilation, floats(1, 2, 3, 4), square0).setOutput(1, sum).compute();
      assertTrue(report.isSuccess(), report.message());
      assertArrayEquals(new float[] {1, 4, 9, 16}, square0.toArray(Graphs.FLOAT));
      assertArrayEquals(new float[] {2, 6, 12, 20}, sum.toArray(Graphs.FLOAT));
      // ADD reads x and the square, and both outputs come back from there.
      assertEquals(
          isTakenOut ? arguments(2 * BYTES, 2 * BYTES) : CopiedBytes.NONE, report.copied());
    }
  }

  @Test
  void anOutputThatOverlapsAnInputIsWrittenAfterTheInputWasRead() throws Exception {
    Compilation compilation = compile(Graphs.twice(2, 2), cpu);
    cpu.onExecute(
        (request, config) -> {
          scribble(request);
          return null;
        });
    MemorySegment both = floats(1, 2, 3, 4);
    ExecutionReport report = execution(compilation, both, both).compute();
    assertTrue(report.isSuccess(), report.message());
    assertArrayEquals(new float[] {2, 4, 6, 8}, both.toArray(Graphs.FLOAT));
    assertEquals(arguments(0, BYTES), report.copied());
  }

  @Test
  @SuppressWarnings("restricted") // The same memory by another segment, as a caller may hold it.
  void anInputThatAnOutputInSharedMemoryOverlapsIsReadFirst() throws Exception {
    Compilation compilation = compile(Graphs.twice(2, 2), cpu);
    cpu.onExecute(
        (request, config) -> {
          scribble(request);
          return null;
        });
    try (SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, BYTES)) {
      MemorySegment same = MemorySegment.ofAddress(memory.segment().address()).reinterpret(BYTES);
      same.copyFrom(Graphs.floats(1, 2, 3, 4));
      ExecutionReport report =
          compilation
              .createExecution()
              .setInput(0, same)
              .setOutput(0, memory, 0, BYTES, Shape.NONE)
              .compute();
      assertTrue(report.isSuccess(), report.message());
      assertArrayEquals(new float[] {2, 4, 6, 8}, same.toArray(Graphs.FLOAT));
    }
  }

  @Test
  void outputsThatOverlapEachOtherAreCopiedInTheirOrder() throws Exception {
    Graphs.Builder g = new Graphs.Builder(4);
    int x = g.input("x");
    g.op(OperationCode.MUL, x, x, g.output("square"));
    g.op(OperationCode.ADD, x, x, g.output("sum"));
    MemorySegment both = arena.allocate(BYTES + 4, Float.BYTES);
    ExecutionReport report =
        execution(compile(g.model(), cpu), floats(1, 2, 3, 4), both.asSlice(0, BYTES))
            .setOutput(1, both.asSlice(4, BYTES))
            .compute();
    assertTrue(report.isSuccess(), report.message());
    assertArrayEquals(new float[] {1, 2, 4, 6, 8}, both.toArray(Graphs.FLOAT));
    assertEquals(arguments(0, 2 * BYTES), report.copied());
  }

  @Test
  void aStepThatFailsIsRepeatedElsewhereWithTheSameInputs() throws Exception {
    for (boolean takesPointers : new boolean[] {true, false}) {
      FaultyDevice fast = new FaultyDevice(LimitedDevice.pointers("test-fast", 0.5));
      fast.onExecute(
          (request, config) -> {
            scribble(request);
            return new Failed(ErrorStatus.GENERAL_FAILURE, "no");
          });
      FaultyDevice other = takesPointers ? cpu : watched(LimitedDevice.cpu());
      MemorySegment output = room();
      ExecutionReport report = addThenMul(compile(Graphs.addThenMul(), fast, other), output);
      assertResult(report, output);
      assertEquals(List.of("fast", "cpu"), Graphs.ranOn(report));
      assertEquals(takesPointers ? CopiedBytes.NONE : arguments(3 * BYTES, BYTES), report.copied());
    }
  }

  @Test
  void aSampledStepIsComparedAndReplacedWhereItIsWrong() throws Exception {
    FaultyDevice fast = new FaultyDevice(LimitedDevice.pointers("test-fast", 0.5));
    CompilationOptions sampled = CompilationOptions.DEFAULT.withSampling(1);
    Compilation compilation = compile(Graphs.addThenMul(), sampled, fast, cpu);
    MemorySegment output = room();
    assertResult(addThenMul(compilation, output), output);
    fast.onExecute(
        (request, config) -> {
          scribble(request);
          return new Completed(List.of(), Timing.NONE);
        });
    MemorySegment replaced = room();
    ExecutionReport report = addThenMul(compilation, replaced);
    assertResult(report, replaced);
    assertEquals(List.of("fast", "cpu"), Graphs.ranOn(report));
    assertEquals(1, runtimes.getFirst().networks().devices().getFirst().health().mismatches());
  }

  @Test
  void anOutputOfOpenSizeIsWrittenInPlaceOrFoundTooSmall() throws Exception {
    Compilation compilation = compile(Graphs.twice(0, 2), cpu);
    MemorySegment output = arena.allocate(2 * BYTES, Float.BYTES);
    ExecutionReport report =
        compilation
            .createExecution()
            .setInput(0, floats(1, 2, 3, 4), Shape.of(2, 2))
            .setOutput(0, output)
            .compute();
    assertTrue(report.isSuccess(), report.message());
    assertEquals(List.of(new OutputShape(Shape.of(2, 2), true)), report.outputs());
    assertArrayEquals(new float[] {2, 4, 6, 8, 0, 0, 0, 0}, output.toArray(Graphs.FLOAT));
    assertEquals(CopiedBytes.NONE, report.copied());
    ExecutionReport small =
        compilation
            .createExecution()
            .setInput(0, floats(1, 2, 3, 4), Shape.of(2, 2))
            .setOutput(0, output.asSlice(0, 8))
            .compute();
    assertEquals(ResultCode.OUTPUT_INSUFFICIENT_SIZE, small.code());
    assertEquals(List.of(new OutputShape(Shape.of(2, 2), false)), small.outputs());
  }

  @Test
  void anAsynchronousExecutionDoesNotReachMemoryOfItsCallersThread() throws Exception {
    Compilation compilation = compile(Graphs.twice(2, 2), cpu);
    ExecutionReport input =
        execution(compilation, floats(1, 2, 3, 4), Graphs.floats(new float[4]))
            .computeAsync()
            .get(1, TimeUnit.MINUTES);
    assertEquals(ResultCode.BAD_DATA, input.code());
    assertEquals(
        "input 0 'x' stands in memory of another thread: use a shared arena", input.message());
    ExecutionReport output =
        execution(compilation, Graphs.floats(1, 2, 3, 4), room())
            .startComputeWithDependencies(List.of())
            .get(1, TimeUnit.MINUTES);
    assertEquals(ResultCode.BAD_DATA, output.code());
    assertEquals(
        "output 0 'y' stands in memory of another thread: use a shared arena", output.message());
    try (Arena shared = Arena.ofShared()) {
      MemorySegment to = shared.allocate(BYTES, Float.BYTES);
      MemorySegment from = shared.allocate(BYTES, Float.BYTES);
      from.copyFrom(Graphs.floats(1, 2, 3, 4));
      ExecutionReport report =
          execution(compilation, from, to).computeAsync().get(1, TimeUnit.MINUTES);
      assertTrue(report.isSuccess(), report.message());
      assertArrayEquals(new float[] {2, 4, 6, 8}, to.toArray(Graphs.FLOAT));
      assertEquals(CopiedBytes.NONE, report.copied());
    }
  }

  @Test
  void aReusableExecutionSendsTheSameRequestAgain() throws Exception {
    Compilation compilation = compile(Graphs.twice(2, 2), cpu);
    MemorySegment from = floats(1, 2, 3, 4);
    MemorySegment to = room();
    Execution execution = execution(compilation, from, to).setReusable(true);
    for (int i = 0; i < 4; i++) {
      from.setAtIndex(Graphs.FLOAT, 0, i);
      ExecutionReport report = execution.compute();
      assertTrue(report.isSuccess(), report.message());
      assertEquals(CopiedBytes.NONE, report.copied());
      assertArrayEquals(new float[] {2 * i, 4, 6, 8}, to.toArray(Graphs.FLOAT));
    }
    assertSame(requests.get(2), requests.get(3));
    MemorySegment other = room();
    assertTrue(execution.setOutput(0, other).compute().isSuccess());
    assertArrayEquals(new float[] {6, 4, 6, 8}, other.toArray(Graphs.FLOAT));
    // A segment on the heap is read anew, though it is the same.
    MemorySegment heap = Graphs.floats(1, 2, 3, 4);
    execution.setInput(0, heap);
    for (int i = 0; i < 3; i++) {
      heap.setAtIndex(Graphs.FLOAT, 3, i);
      ExecutionReport report = execution.compute();
      assertEquals(arguments(BYTES, 0), report.copied());
      assertArrayEquals(new float[] {2, 4, 6, 2 * i}, other.toArray(Graphs.FLOAT));
    }
  }

  @Test
  void aReusableExecutionFindsWhatHasChanged() throws Exception {
    Compilation compilation = compile(Graphs.twice(2, 2), cpu);
    MemorySegment from = floats(1, 2, 3, 4);
    MemorySegment to = room();
    Execution execution = execution(compilation, from, to).setReusable(true);
    try (Arena brief = Arena.ofShared()) {
      execution.setInput(0, brief.allocate(BYTES, Float.BYTES));
      for (int i = 0; i < 3; i++) {
        assertTrue(execution.compute().isSuccess());
      }
    }
    ExecutionReport closed = execution.compute();
    assertEquals(ResultCode.BAD_DATA, closed.code());
    assertEquals("input 0 'x' stands in memory that is closed", closed.message());
    execution.setInput(0, from.asSlice(4));
    ExecutionReport small = execution.compute();
    assertEquals("input 0 'x' wants 16 bytes (2x2 TENSOR_FLOAT32), got 12", small.message());
    execution.setInput(0, from);
    for (int i = 0; i < 3; i++) {
      assertTrue(execution.compute().isSuccess());
    }
    // Its memory is of this thread.
    ExecutionReport foreign = execution.computeAsync().get(10, TimeUnit.SECONDS);
    assertEquals(ResultCode.BAD_DATA, foreign.code(), foreign.message());
    assertTrue(execution.compute().isSuccess());
    assertArrayEquals(new float[] {2, 4, 6, 8}, to.toArray(Graphs.FLOAT));
    execution.setReusable(false);
    assertTrue(execution.compute().isSuccess());
    assertEquals(ResultCode.BAD_STATE, execution.compute().code());
  }

  @Test
  void aReusableExecutionGoesOnElsewhereAndComesBack() throws Exception {
    FaultyDevice fast = new FaultyDevice(LimitedDevice.pointers("test-fast", 0.5));
    FaultyDevice copying = watched(LimitedDevice.cpu());
    Compilation compilation = compile(Graphs.addThenMul(), fast, copying);
    MemorySegment to = room();
    Execution execution =
        execution(compilation, floats(1, 2, 3, 4), floats(10, 20, 30, 40), floats(2, 2, 2, 3), to)
            .setReusable(true);
    for (int i = 0; i < 9; i++) {
      boolean fails = i % 3 == 2;
      fast.onExecute(
          (request, config) -> {
            if (!fails) {
              return null;
            }
            scribble(request);
            return new Failed(ErrorStatus.GENERAL_FAILURE, "no");
          });
      to.fill((byte) 0);
      ExecutionReport report = execution.compute();
      assertResult(report, to);
      assertEquals(fails ? List.of("fast", "cpu") : List.of("fast"), Graphs.ranOn(report));
      assertEquals(fails ? arguments(3 * BYTES, BYTES) : CopiedBytes.NONE, report.copied());
    }
  }

  @Test
  void closedMemoryIsBadData() throws Exception {
    Compilation compilation = compile(Graphs.twice(2, 2), cpu);
    MemorySegment gone;
    try (Arena brief = Arena.ofShared()) {
      gone = brief.allocate(BYTES, Float.BYTES);
    }
    ExecutionReport input = execution(compilation, gone, room()).compute();
    assertEquals(ResultCode.BAD_DATA, input.code());
    assertEquals("input 0 'x' stands in memory that is closed", input.message());
    ExecutionReport output = execution(compilation, floats(1, 2, 3, 4), gone).compute();
    assertEquals(ResultCode.BAD_DATA, output.code());
    assertEquals("output 0 'y' stands in memory that is closed", output.message());
  }

  @Test
  void memoryThatIsClosedMeanwhileIsBadDataAndNoFaultOfTheDevice() throws Exception {
    FaultyDevice fast = new FaultyDevice(LimitedDevice.pointers("test-fast", 0.5));
    Arena shared = Arena.ofShared();
    fast.onExecute(
        (request, config) -> {
          shared.close();
          return null; // and then it reads
        });
    Compilation compilation = compile(Graphs.twice(2, 2), fast, cpu);
    MemorySegment from = shared.allocate(BYTES, Float.BYTES);
    ExecutionReport report = execution(compilation, from, room()).compute();
    assertEquals(ResultCode.BAD_DATA, report.code(), report.message());
    assertEquals("input 0 'x' stands in memory that is closed", report.message());
    assertEquals(List.of("fast"), Graphs.ranOn(report));
    DeviceDescription device = runtimes.getFirst().networks().devices().getFirst();
    assertEquals(State.AVAILABLE, device.state());
    assertEquals(0, device.health().failures());
  }
}
