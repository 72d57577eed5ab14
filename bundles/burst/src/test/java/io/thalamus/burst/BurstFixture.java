// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst;

import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.Request;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ErrorStatus;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;

/**
 * A service, two memories, and a request for a {@link Doubler} that reads one and writes the other.
 */
@Timeout(60)
abstract class BurstFixture {
  static final long PATIENCE = TimeUnit.SECONDS.toNanos(20);

  final QueueBurstService service = new QueueBurstService();
  final SharedMemory in = SharedMemory.allocate(MemoryKind.ASHMEM, 64);
  final SharedMemory out = SharedMemory.allocate(MemoryKind.ASHMEM, 64);
  final Request request = Doubler.request(in, 4, out, 8);

  @AfterEach
  void close() {
    service.close();
    in.close();
    out.close();
  }

  static BurstSettings settings(int version, int depth) {
    return settings(version, depth, false);
  }

  static BurstSettings settings(int version, int depth, boolean isServedByCaller) {
    IntFunction<DeviceBuffer> none = token -> null;
    return new BurstSettings(depth, Duration.ofNanos(20_000), 64, version, none, isServedByCaller);
  }

  static ErrorStatus execute(BurstClient client, Request request) {
    assertTrue(client.send(request, ExecutionConfig.DEFAULT));
    return client.receive(PATIENCE).status();
  }

  static String message(ExecutionResult result) {
    return assertInstanceOf(Failed.class, result).message();
  }

  /** Throws an error in its first execution, and computes in later ones. */
  static Doubler throwing(Error error) {
    return new Doubler() {
      @Override
      public ExecutionResult execute(Request wanted, ExecutionConfig config) {
        if (executions == 0) {
          executions++;
          throw error;
        }
        return super.execute(wanted, config);
      }
    };
  }

  /** Runs until it is asked to stop, and says what for. */
  static final class Endless extends Doubler {
    final CountDownLatch begun = new CountDownLatch(1);

    @Override
    public ExecutionResult execute(Request wanted, ExecutionConfig config) {
      executions++;
      begun.countDown();
      while (true) {
        Signal signal = config.control().checkpoint();
        if (signal != Signal.CONTINUE) {
          return new Failed(ErrorStatus.GENERAL_FAILURE, signal.toString());
        }
        Thread.onSpinWait();
      }
    }
  }
}
