// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.cache.NoCacheEngine;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Model;
import io.thalamus.model.Priority;
import io.thalamus.npu.machine.Memory;
import io.thalamus.tflite.TfliteReader;
import io.thalamus.vectors.ConformanceData;
import io.thalamus.vectors.ModelDirectory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The time of an urgent execution while a long one has the device. It is the device's own: the
 * clock of the host stands still, and nothing here depends on the machine.
 */
@Timeout(180)
class PreemptionLatencyTest {
  /** Arrivals of the urgent one while the long one runs. */
  private static final int ARRIVALS = 60;

  private final NpuDevice device =
      new NpuDevice(
          "1.0.0",
          NpuConfig.standard().withSearch(16, true, 1),
          new NoCacheEngine(),
          NpuDevice.Host.ALONE.with(() -> 0));

  @AfterEach
  void close() {
    device.close();
  }

  private NpuPreparedModel prepare(String name, Priority priority) throws Exception {
    Optional<Path> models = ConformanceData.models();
    Assumptions.assumeTrue(models.isPresent(), "there are no public models here");
    Path file = ModelDirectory.read(models.get().resolve(name)).model();
    try (SharedMemory memory = SharedMemory.map(file)) {
      Model model = new TfliteReader().read(memory).model();
      return (NpuPreparedModel) device.prepare(model, PrepareConfig.DEFAULT.with(priority));
    }
  }

  /** One execution, with random inputs. */
  private final class Execution {
    private final Memory memory;
    private final StreamRun stream;

    Execution(NpuPreparedModel model, Priority priority, ExecutionControl control) {
      memory = new Memory(model.program().machine().executable().memories());
      new Random(1).nextBytes(memory.tensors);
      stream =
          new StreamRun(
              device.chip(),
              model.program(),
              memory,
              priority,
              ExecutionConfig.DEFAULT.with(control));
    }

    Execution run() throws Exception {
      assertNull(stream.run());
      return this;
    }
  }

  /** Has urgent executions arrive at equal distances while a command of the long one runs. */
  private final class Arrivals implements ExecutionControl {
    private final NpuPreparedModel urgent;
    private final int distance;
    private final List<FutureTask<Execution>> arrived = new ArrayList<>();
    private int commands;

    Arrivals(NpuPreparedModel urgent, int distance) {
      this.urgent = urgent;
      this.distance = distance;
    }

    @Override
    public Signal checkpoint() {
      return Signal.CONTINUE;
    }

    /**
     * The device has asked whether more urgent work waits, and runs the command when it returns.
     */
    @Override
    public boolean isPauseWanted() {
      if (++commands % distance == 0) {
        FutureTask<Execution> other =
            new FutureTask<>(
                () -> new Execution(urgent, Priority.HIGH, ExecutionControl.NONE).run());
        arrived.add(other);
        Thread.ofPlatform().name("test-urgent").daemon().start(other);
        while (device.chip().queue().waiting() == 0) {
          Thread.onSpinWait();
        }
      }
      return false;
    }
  }

  @Test
  void isNearThatOfAnIdleDevice() throws Exception {
    try (NpuPreparedModel urgent = prepare("kws_dscnn_int8", Priority.HIGH);
        NpuPreparedModel large = prepare("mobilenet_v2_100_224_uint8", Priority.LOW)) {
      Execution undisturbed = new Execution(large, Priority.LOW, ExecutionControl.NONE).run();
      new Execution(urgent, Priority.HIGH, ExecutionControl.NONE).run();
      // The supply is up from here on, so that nothing is hidden behind its way up.
      Execution alone = new Execution(urgent, Priority.HIGH, ExecutionControl.NONE).run();
      long idle = alone.stream.elapsedNanos();
      assertEquals(urgent.report().nanos(), idle);
      assertEquals(large.report().nanos(), undisturbed.stream.workedNanos());

      Arrivals arrivals = new Arrivals(urgent, large.program().machine().length() / ARRIVALS);
      Execution disturbed = new Execution(large, Priority.LOW, arrivals).run();
      int count = arrivals.arrived.size();
      long worst = 0;
      long sum = 0;
      for (FutureTask<Execution> one : arrivals.arrived) {
        Execution execution = one.get();
        assertArrayEquals(alone.memory.tensors, execution.memory.tensors);
        assertEquals(idle, execution.stream.workedNanos());
        worst = Math.max(worst, execution.stream.elapsedNanos());
        sum += execution.stream.elapsedNanos();
      }
      NpuActivity activity = device.activity();
      System.out.printf(
          "npu: an urgent execution takes %d ns on the idle device; of %d during a long one the"
              + " mean is %d ns, the worst %d ns; %s%n",
          idle, count, sum / count, worst, activity);
      assertTrue(count >= ARRIVALS - 1, count + " arrivals");
      assertTrue(worst <= 1.5 * idle, worst + " ns, " + idle + " ns on an idle device");
      assertArrayEquals(undisturbed.memory.tensors, disturbed.memory.tensors);
      assertEquals(count, activity.resumed() + activity.restarted(), "one for each arrival");
      // It waited for the urgent ones and for nothing else, and worked for its context as well.
      long without = disturbed.stream.elapsedNanos() - count * idle;
      assertEquals(without, disturbed.stream.workedNanos(), count);
      long more = without - undisturbed.stream.workedNanos();
      assertTrue(activity.contextNanos() > 0 && more >= activity.contextNanos(), more + " ns");
      assertTrue(
          without <= 1.2 * undisturbed.stream.workedNanos(),
          without + " ns, undisturbed " + undisturbed.stream.workedNanos());
    }
  }
}
