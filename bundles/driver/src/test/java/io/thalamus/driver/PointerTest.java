// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.ExecutionResult.OutputInsufficientSize;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.Request.Argument;
import io.thalamus.hal.Request.Pointer;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.DeviceType;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.operations.OperationCatalog;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Arguments by pointer on a device of the library: FLOOR of two floats. */
class PointerTest {
  private static final ExecutionConfig USUAL = ExecutionConfig.DEFAULT;
  private static final long BYTES = 2 * Float.BYTES;

  private final Arena arena = Arena.ofConfined();
  private final MemorySegment input = arena.allocate(BYTES, Float.BYTES);
  private final MemorySegment output = arena.allocate(BYTES, Float.BYTES);
  private PreparedModel prepared;

  @BeforeEach
  void prepare() throws DeviceException {
    input.setAtIndex(ValueLayout.JAVA_FLOAT, 0, 1.5f);
    input.setAtIndex(ValueLayout.JAVA_FLOAT, 1, -0.5f);
    prepared = new TestDevice().prepare(floor(Shape.of(2)), PrepareConfig.DEFAULT);
  }

  @AfterEach
  void close() {
    prepared.close();
    arena.close();
  }

  private static Model floor(Shape shape) {
    SubgraphBuilder graph = new SubgraphBuilder();
    int from = graph.input("", OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE);
    int to = graph.output("", OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE);
    graph.operation(OperationCode.FLOOR, List.of(from), List.of(to));
    return Model.of(graph.build());
  }

  private static Request request(MemorySegment from, MemorySegment to) {
    return request(new Pointer(from, Shape.NONE), new Pointer(to, Shape.NONE));
  }

  private static Request request(Argument from, Argument to) {
    return new Request(List.of(from), List.of(to), List.of());
  }

  private void assertRefused(Request request, String word) {
    Failed failed = assertInstanceOf(Failed.class, prepared.execute(request, USUAL));
    assertEquals(ErrorStatus.INVALID_ARGUMENT, failed.status());
    assertTrue(failed.message().contains(word), failed.message());
  }

  @Test
  void segmentsOfTheCallingThreadAreReadAndWrittenInPlace() {
    MemorySegment before = MemorySegment.ofArray(input.toArray(ValueLayout.JAVA_BYTE));
    assertInstanceOf(Completed.class, prepared.execute(request(input, output), USUAL));
    assertArrayEquals(new float[] {1, -1}, output.toArray(ValueLayout.JAVA_FLOAT));
    assertEquals(-1, input.mismatch(before));
  }

  @Test
  void aReadOnlySegmentIsAnInputButNoOutput() {
    assertInstanceOf(Completed.class, prepared.execute(request(input.asReadOnly(), output), USUAL));
    assertRefused(request(input, output.asReadOnly()), "output 0 is in read-only memory");
  }

  @Test
  void heapAndUnalignedSegmentsAreRefused() {
    MemorySegment heap = MemorySegment.ofArray(new float[2]);
    assertRefused(request(heap, output), "input 0 is passed by pointer, but is on the heap");
    assertRefused(request(input, heap), "output 0 is passed by pointer, but is on the heap");
    MemorySegment unaligned = arena.allocate(BYTES + 1, Float.BYTES).asSlice(1);
    assertRefused(request(unaligned, output), "not aligned for TENSOR_FLOAT32");
    assertRefused(request(input, unaligned), "not aligned for TENSOR_FLOAT32");
  }

  @Test
  void segmentsOfTheWrongSizeAreRefusedOrFoundTooSmall() {
    assertRefused(request(input.asSlice(0, 4), output), "input 0 has 4 bytes");
    ExecutionResult result = prepared.execute(request(input, output.asSlice(0, 4)), USUAL);
    OutputInsufficientSize small = assertInstanceOf(OutputInsufficientSize.class, result);
    assertEquals(Shape.of(2), small.outputs().getFirst().shape());
    assertFalse(small.outputs().getFirst().isSufficient());
  }

  @Test
  void aShapeThatContradictsTheModelIsRefused() {
    Pointer wrong = new Pointer(input, Shape.of(1, 2));
    assertRefused(request(wrong, new Pointer(output, Shape.NONE)), "in the request");
  }

  @Test
  void aClosedSegmentAndOneOfAnotherThreadAreRefused() throws InterruptedException {
    MemorySegment closed;
    try (Arena brief = Arena.ofShared()) {
      closed = brief.allocate(BYTES, Float.BYTES);
    }
    assertRefused(request(closed, output), "closed or another thread's");
    MemorySegment[] foreign = new MemorySegment[1];
    Thread other =
        Thread.ofPlatform()
            .start(() -> foreign[0] = Arena.ofConfined().allocate(BYTES, Float.BYTES));
    other.join();
    assertRefused(request(input, foreign[0]), "closed or another thread's");
  }

  @Test
  void theSameRequestIsReadAndCheckedAnew() throws InterruptedException {
    Request own = request(input, output);
    for (float value : new float[] {3.5f, 4.5f}) {
      input.setAtIndex(ValueLayout.JAVA_FLOAT, 0, value);
      assertInstanceOf(Completed.class, prepared.execute(own, USUAL));
      assertEquals((float) Math.floor(value), output.getAtIndex(ValueLayout.JAVA_FLOAT, 0));
    }
    ExecutionResult[] elsewhere = new ExecutionResult[1];
    Thread other = Thread.ofPlatform().start(() -> elsewhere[0] = prepared.execute(own, USUAL));
    other.join();
    assertInstanceOf(Failed.class, elsewhere[0]);
    assertInstanceOf(Completed.class, prepared.execute(own, USUAL));
    Request brief;
    try (Arena shared = Arena.ofShared()) {
      brief = request(shared.allocate(BYTES, Float.BYTES), output);
      assertInstanceOf(Completed.class, prepared.execute(brief, USUAL));
      assertInstanceOf(Completed.class, prepared.execute(brief, USUAL));
    }
    assertRefused(brief, "closed or another thread's");
  }

  @Test
  void theShapeOfARequestSaysWhatTheModelLeavesOpen() throws DeviceException {
    try (PreparedModel open = new TestDevice().prepare(floor(Shape.of(0)), PrepareConfig.DEFAULT)) {
      Pointer from = new Pointer(input, Shape.of(2));
      Completed completed =
          assertInstanceOf(
              Completed.class, open.execute(request(from, new Pointer(output, Shape.NONE)), USUAL));
      assertEquals(Shape.of(2), completed.outputs().getFirst().shape());
      assertArrayEquals(new float[] {1, -1}, output.toArray(ValueLayout.JAVA_FLOAT));
    }
  }

  @Test
  void aFencedExecutionTakesNoPointers() {
    DeviceException refused =
        assertThrows(
            DeviceException.class,
            () -> prepared.executeFenced(request(input, output), List.of(), USUAL));
    assertEquals(ErrorStatus.INVALID_ARGUMENT, refused.status());
  }

  @Test
  void onlyADeviceThatComputesInItsCallersThreadSaysThatItTakesPointers() throws DeviceException {
    assertTrue(new TestDevice().info().pointerArguments());
    DeviceInfo facts =
        DeviceInfo.builder("test-device", "1")
            .capabilities(new TestDevice().info().capabilities())
            .type(DeviceType.ACCELERATOR)
            .build();
    KernelDevice accelerator =
        new KernelDevice(facts, TestDevice.kernels(() -> {}), OperationCatalog.standard()) {};
    assertFalse(accelerator.info().pointerArguments());
    try (PreparedModel other = accelerator.prepare(floor(Shape.of(2)), PrepareConfig.DEFAULT)) {
      Failed failed = assertInstanceOf(Failed.class, other.execute(request(input, output), USUAL));
      assertEquals(ErrorStatus.INVALID_ARGUMENT, failed.status());
      assertTrue(failed.message().contains("does not take"), failed.message());
    }
  }
}
