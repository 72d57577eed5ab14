// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation;

import static io.thalamus.isolation.SteppingDevice.BY_BURST;
import static io.thalamus.isolation.SteppingDevice.DONE;
import static io.thalamus.isolation.SteppingDevice.STEPS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.burst.BurstClient;
import io.thalamus.burst.BurstSettings;
import io.thalamus.burst.QueueBurstService;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.isolation.host.DeviceHost;
import io.thalamus.isolation.proxy.RemoteDevice;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Deadline;
import io.thalamus.model.ErrorStatus;
import java.lang.foreign.ValueLayout;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Controls of executions reach a device in another process while it executes, on every road. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Order(2)
class ChildProcessTest {
  private static final int EVER = Integer.MAX_VALUE;
  private static final long PATIENCE = TimeUnit.SECONDS.toNanos(60);

  /** Shorter than a control pauses here: a device that stands back does not hang. */
  private static final Duration LIMIT = Duration.ofMillis(1500);

  private static Pair pair;

  /** The other process. */
  static final class Child {
    public static void main(String[] arguments) throws Exception {
      Path folder = Path.of(arguments[0]);
      SocketChannel channel =
          SocketChannel.open(UnixDomainSocketAddress.of(folder.resolve("socket")));
      DeviceHost host = new DeviceHost(new SteppingDevice(), channel, folder);
      host.start(Map.of());
      host.await();
      Runtime.getRuntime().halt(0);
    }
  }

  @BeforeAll
  static void start() throws Exception {
    pair =
        Pair.ofProcess(Child.class, new RemoteDevice.Limits(LIMIT, LIMIT.multipliedBy(100), true));
  }

  @AfterAll
  static void end() throws Exception {
    pair.close();
  }

  /** The roads of an execution to the device. */
  private enum Road {
    SOCKET,
    /** The burst of the proxy itself, which it opens for a model that is executed often. */
    LANE,
    /** A burst that an application has opened. */
    BURST
  }

  /** An execution under way. Used by one thread. */
  private record Execution(
      Road road,
      PreparedModel model,
      QueueBurstService bursts,
      BurstClient client,
      SharedMemory memory)
      implements AutoCloseable {
    static Execution of(Road road) throws Exception {
      PreparedModel model = pair.prepare(PairTest.add(), PrepareConfig.DEFAULT);
      QueueBurstService bursts = new QueueBurstService();
      BurstClient client = road == Road.BURST ? bursts.open(model, BurstSettings.DEFAULT) : null;
      SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, 3 * PairTest.BYTES);
      return new Execution(road, model, bursts, client, memory);
    }

    /** Executes on the road: the proxy has bursts for models that are short and executed often. */
    ExecutionResult run(int steps, ExecutionConfig config) {
      for (int i = 0; road == Road.LANE && i < 8; i++) {
        assertInstanceOf(Completed.class, execute(1, ExecutionConfig.DEFAULT));
      }
      ExecutionResult result = execute(steps, config);
      assertEquals(road == Road.SOCKET ? 0 : 1, get(BY_BURST), "executed by burst");
      return result;
    }

    private ExecutionResult execute(int steps, ExecutionConfig config) {
      set(STEPS, steps);
      set(DONE, 0);
      Request request = PairTest.request(memory);
      if (client == null) {
        return model.execute(request, config);
      }
      assertTrue(client.send(request, config));
      return client.receive(PATIENCE);
    }

    private void set(long offset, int value) {
      memory.segment().set(ValueLayout.JAVA_INT, offset, value);
    }

    int get(long offset) {
      return memory.segment().get(ValueLayout.JAVA_INT, offset);
    }

    /** Returns the steps once there are no more of them for a while. */
    int awaitStill() {
      long end = System.nanoTime() + PATIENCE;
      int before = get(DONE);
      while (System.nanoTime() - end < 0) {
        pause(Duration.ofMillis(50));
        int now = get(DONE);
        if (now == before) {
          return now;
        }
        before = now;
      }
      throw new AssertionError("it goes on: " + before + " steps");
    }

    @Override
    public void close() {
      if (client != null) {
        client.close();
      }
      bursts.close();
      model.close();
      memory.close();
    }
  }

  private static void pause(Duration duration) {
    try {
      Thread.sleep(duration);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private static ExecutionConfig with(ExecutionControl control) {
    return ExecutionConfig.DEFAULT.with(control);
  }

  @ParameterizedTest
  @EnumSource(Road.class)
  void itStopsWhenItsControlSaysSo(Road road) throws Exception {
    try (Execution execution = Execution.of(road)) {
      assertEquals(
          ErrorStatus.GENERAL_FAILURE,
          execution.run(EVER, with(once(execution, Signal.CANCELLED))).status());
      assertEquals(
          ErrorStatus.MISSED_DEADLINE_TRANSIENT,
          execution.run(EVER, with(once(execution, Signal.DEADLINE))).status());
      assertTrue(execution.get(DONE) >= 10, "it did not begin");
      execution.awaitStill();
    }
  }

  /** Says it once the device is at work. */
  private static ExecutionControl once(Execution execution, Signal signal) {
    return () -> execution.get(DONE) < 10 ? Signal.CONTINUE : signal;
  }

  @ParameterizedTest
  @EnumSource(Road.class)
  void deadlinesAndLoopTimeoutsEndIt(Road road) throws Exception {
    try (Execution execution = Execution.of(road)) {
      Duration soon = Duration.ofMillis(100);
      ErrorStatus late =
          execution.run(EVER, ExecutionConfig.DEFAULT.with(Deadline.after(soon))).status();
      // A process that is slow with its first execution finds it over before it begins.
      assertTrue(
          late == ErrorStatus.MISSED_DEADLINE_TRANSIENT
              || late == ErrorStatus.MISSED_DEADLINE_PERSISTENT,
          late::toString);
      ExecutionResult ended = execution.run(EVER, ExecutionConfig.DEFAULT.withLoopTimeout(soon));
      assertEquals(ErrorStatus.MISSED_DEADLINE_TRANSIENT, ended.status());
    }
  }

  @ParameterizedTest
  @EnumSource(Road.class)
  void itStandsBackWhileItsControlPauses(Road road) throws Exception {
    try (Execution execution = Execution.of(road)) {
      int[] pauses = {0};
      ExecutionControl control =
          () -> {
            if (execution.get(DONE) >= 10 * (pauses[0] + 1) && pauses[0] < 2) {
              pauses[0]++;
              int steps = execution.awaitStill();
              pause(LIMIT.multipliedBy(3).dividedBy(2));
              assertEquals(steps, execution.get(DONE), "it went on");
            }
            return Signal.CONTINUE;
          };
      ExecutionConfig config = with(control).withLoopTimeout(Duration.ofNanos(PATIENCE));
      ExecutionResult result = execution.run(2000, config);
      assertInstanceOf(Completed.class, result, result::toString);
      assertEquals(2000, execution.get(DONE));
      assertEquals(2, pauses[0]);
    }
  }

  @ParameterizedTest
  @EnumSource(Road.class)
  void longExecutionsThatPassCheckpointsDoNotHang(Road road) throws Exception {
    try (Execution execution = Execution.of(road)) {
      ExecutionConfig config = ExecutionConfig.DEFAULT.withLoopTimeout(LIMIT.multipliedBy(2));
      assertEquals(ErrorStatus.MISSED_DEADLINE_TRANSIENT, execution.run(EVER, config).status());
    }
  }
}
