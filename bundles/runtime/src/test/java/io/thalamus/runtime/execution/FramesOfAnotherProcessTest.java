// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Answer;
import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.ExecutionReport.CopiedBytes;
import io.thalamus.api.Inference;
import io.thalamus.api.Tensor;
import io.thalamus.memory.HardwareBuffer;
import io.thalamus.memory.HardwareBuffer.Access;
import io.thalamus.memory.HardwareBufferDesc;
import io.thalamus.memory.HardwareBufferHandle;
import io.thalamus.model.Model;
import io.thalamus.model.Shape;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.TestRuntime;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Frames that another process writes, as a camera does, and that executions read in place. */
class FramesOfAnotherProcessTest {
  private static final int FRAMES = 1000;
  private static final int ELEMENTS = 1024;
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  /** The number of the frame that stands there; behind it the one that was computed last. */
  private static final long WRITTEN = 0;

  private static final long COMPUTED = Integer.BYTES;
  private static final int HEADER = 64;
  private static final int BYTES = ELEMENTS * Float.BYTES;

  @Test
  void framesAreComputedWithoutACopy() throws Exception {
    try (TestRuntime runtime = TestRuntime.of(LimitedDevice.cpu());
        Compilation twice =
            runtime.networks().compile(Graphs.twice(1, ELEMENTS), CompilationOptions.DEFAULT);
        HardwareBuffer buffer = HardwareBuffer.allocate(HardwareBufferDesc.blob(HEADER + BYTES));
        HardwareBuffer results = HardwareBuffer.allocate(HardwareBufferDesc.blob(BYTES))) {
      Process camera = start(buffer.describe());
      try {
        for (int frame = 1; frame <= FRAMES; frame++) {
          awaitFrame(buffer, camera, frame);
          try (HardwareBuffer.Lock lock = buffer.lock(Access.WRITE, PATIENCE).orElseThrow()) {
            ExecutionReport report =
                twice
                    .createExecution()
                    .setInput(0, buffer.memory(), HEADER, BYTES, Shape.NONE)
                    .setOutput(0, results.memory(), 0, BYTES, Shape.NONE)
                    .compute()
                    .orThrow();
            assertEquals(CopiedBytes.NONE, report.copied());
            for (int i = 0; i < ELEMENTS; i++) {
              float result = results.memory().segment().getAtIndex(ValueLayout.JAVA_FLOAT, i);
              assertEquals(2 * element(frame, i), result, "frame " + frame + ", element " + i);
            }
            lock.segment().set(ValueLayout.JAVA_INT, COMPUTED, frame);
          }
        }
        assertTrue(camera.waitFor(60, TimeUnit.SECONDS));
        assertEquals(0, camera.exitValue());
      } finally {
        camera.destroyForcibly();
      }
    }
  }

  @Test
  void aTensorOfABufferIsReadWhereItIs() throws Exception {
    Model model = Graphs.twice(1, ELEMENTS);
    try (TestRuntime runtime = TestRuntime.of(LimitedDevice.cpu());
        Compilation twice = runtime.networks().compile(model, CompilationOptions.DEFAULT);
        HardwareBuffer frame = HardwareBuffer.allocate(HardwareBufferDesc.blob(BYTES))) {
      MemorySegment bytes = frame.memory().segment();
      bytes.setAtIndex(ValueLayout.JAVA_FLOAT, 7, element(1, 7));
      Inference inference = new Inference(twice);
      Tensor input = Tensor.of(model.main().input(0), frame.memory());
      Answer answer = inference.run(List.of(input));
      assertEquals(2 * element(1, 7), answer.outputs().getFirst().real(7));
      assertEquals(0, answer.report().copied().argumentsIn());
    }
  }

  private static void awaitFrame(HardwareBuffer buffer, Process camera, int frame)
      throws InterruptedException {
    while (number(buffer, WRITTEN) < frame) {
      assertTrue(camera.isAlive() || number(buffer, WRITTEN) >= frame, "the other process ended");
      Thread.sleep(1);
    }
  }

  private static int number(HardwareBuffer buffer, long at) {
    try (HardwareBuffer.Lock lock = buffer.lock(Access.READ, PATIENCE).orElseThrow()) {
      return lock.segment().get(ValueLayout.JAVA_INT, at);
    }
  }

  private static float element(int frame, int index) {
    return frame + index / 4096f;
  }

  private static Process start(HardwareBufferHandle handle) throws Exception {
    return new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-Xmx64m",
            "-cp",
            System.getProperty("java.class.path"),
            Camera.class.getName(),
            handle.text())
        .inheritIO()
        .start();
  }

  /** The other process: writes each frame when the one before was computed. */
  static final class Camera {
    public static void main(String[] args) throws InterruptedException {
      try (HardwareBuffer buffer = HardwareBuffer.open(HardwareBufferHandle.parse(args[0]))) {
        for (int frame = 1; frame <= FRAMES; frame++) {
          while (number(buffer, COMPUTED) < frame - 1) {
            Thread.sleep(1);
          }
          try (HardwareBuffer.Lock lock = buffer.lock(Access.WRITE, PATIENCE).orElseThrow()) {
            MemorySegment bytes = lock.segment();
            for (int i = 0; i < ELEMENTS; i++) {
              bytes.set(ValueLayout.JAVA_FLOAT, HEADER + i * 4L, element(frame, i));
            }
            bytes.set(ValueLayout.JAVA_INT, WRITTEN, frame);
          }
        }
      }
    }
  }
}
