// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.Request;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Deadline;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Executions of equal requests allocate nothing, neither in the client nor in the server. */
class BurstAllocationsTest {
  private static final long PATIENCE = TimeUnit.SECONDS.toNanos(20);
  private static final int WARM_UP = 30_000;
  private static final int EXECUTIONS = 30_000;

  /**
   * The bytes that the compiler of the virtual machine may still take on the thread, all in all.
   */
  private static final long SOME_BYTES = EXECUTIONS;

  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  private volatile long serverThread;

  private final Doubler model =
      new Doubler() {
        @Override
        public ExecutionResult execute(Request wanted, ExecutionConfig config) {
          serverThread = Thread.currentThread().threadId();
          return DONE;
        }
      };

  @Test
  @Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  void nothingIsAllocated() throws Exception {
    assertTrue(serverBytes(1, 1, false, ExecutionConfig.DEFAULT) < SOME_BYTES);
    assertTrue(serverBytes(2, 1, false, ExecutionConfig.DEFAULT) < SOME_BYTES);
    assertTrue(serverBytes(2, 1, true, ExecutionConfig.DEFAULT) < SOME_BYTES);
    ExecutionConfig timed = ExecutionConfig.DEFAULT.withMeasureTiming(true);
    assertTrue(serverBytes(2, 3, false, timed) < SOME_BYTES);
  }

  @Test
  @Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  void aDeadlineIsAnObjectOfTheServerAndNoneOfTheClient() throws Exception {
    ExecutionConfig late = ExecutionConfig.DEFAULT.with(Deadline.after(Duration.ofHours(1)));
    assertTrue(serverBytes(2, 1, false, late) < 200L * EXECUTIONS);
  }

  /** Executes often, and returns what the server allocated meanwhile. */
  private long serverBytes(int version, int depth, boolean isServedByCaller, ExecutionConfig config)
      throws Exception {
    try (QueueBurstService service = new QueueBurstService();
        SharedMemory in = SharedMemory.allocate(MemoryKind.ASHMEM, 64);
        SharedMemory out = SharedMemory.allocate(MemoryKind.ASHMEM, 64);
        BurstClient client =
            service.open(model, BurstFixture.settings(version, depth, isServedByCaller))) {
      Request[] requests = new Request[depth];
      for (int i = 0; i < depth; i++) {
        requests[i] = Doubler.request(in, 4 * i, out, 4 * i);
      }
      execute(client, requests, config, WARM_UP);
      long client0 = THREADS.getCurrentThreadAllocatedBytes();
      long server0 = THREADS.getThreadAllocatedBytes(serverThread);
      execute(client, requests, config, EXECUTIONS);
      long server1 = THREADS.getThreadAllocatedBytes(serverThread);
      long client1 = THREADS.getCurrentThreadAllocatedBytes();
      System.out.println(
          "bytes allocated by %d executions: client %d, server %d"
              .formatted(EXECUTIONS, client1 - client0, server1 - server0));
      assertTrue(client1 - client0 < SOME_BYTES, "client");
      assertEquals(2, client.statistics().slots());
      return server1 - server0;
    }
  }

  private static void execute(
      BurstClient client, Request[] requests, ExecutionConfig config, int count) {
    ExecutionResult first = null;
    for (int i = 0; i < count; i++) {
      assertTrue(client.send(requests[i % requests.length], config));
      if (client.underWay() == requests.length) {
        ExecutionResult result = client.receive(PATIENCE);
        first = first == null ? result : first;
        assertSame(first, result, "equal results are one object");
      }
    }
    while (client.underWay() > 0) {
      assertSame(first, client.receive(PATIENCE));
    }
  }
}
