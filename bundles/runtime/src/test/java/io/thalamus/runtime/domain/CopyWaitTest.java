// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.domain;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.Execution;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.MemoryDesc;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.HangingDevice;
import io.thalamus.runtime.fakes.HangingDevice.Call;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.TestRuntime;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Copies of a memory that an execution uses and does not let go of. */
class CopyWaitTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final float[] ONE = {1, 2, 3, 4};

  private final HangingDevice device = new HangingDevice(LimitedDevice.cpu());
  private final TestRuntime runtime = TestRuntime.of(device);
  private final MemoryDomains domains =
      new MemoryDomains(Duration.ofMillis(300), System::nanoTime, null);

  @AfterEach
  void close() {
    device.letGo();
    domains.close();
    runtime.close();
  }

  private DomainMemory make(String name, Compilation compilation) throws Exception {
    MemoryDesc desc = MemoryDesc.builder(name).input(compilation, 0).output(compilation, 0).build();
    return domains.create(desc, "test", closed -> {});
  }

  private static void refused(String name, Executable copy) {
    NeuralNetworksException e =
        assertTimeoutPreemptively(
            LIMIT, () -> assertThrows(NeuralNetworksException.class, copy), "it waits on");
    assertEquals(ResultCode.MISSED_DEADLINE_TRANSIENT, e.code(), e.getMessage());
    assertTrue(e.getMessage().startsWith("memory '" + name + "' is in use"), e.getMessage());
  }

  @Test
  void copiesDoNotWaitWithoutEndForAnExecutionThatHangs() throws Exception {
    try (Compilation twice =
            runtime.networks().compile(Graphs.twice(2, 2), CompilationOptions.DEFAULT);
        DomainMemory in = make("in", twice);
        DomainMemory out = make("out", twice);
        DomainMemory other = make("other", twice)) {
      in.copyFrom(Graphs.floats(ONE));
      device.hang(Call.EXECUTE);
      Execution execution = twice.createExecution().setInput(0, in).setOutput(0, out);
      CompletableFuture<ExecutionReport> running =
          CompletableFuture.supplyAsync(execution::compute);
      device.awaitInside();
      float[] read = new float[ONE.length];
      in.copyTo(Graphs.floats(read));
      assertArrayEquals(ONE, read, "readers do not wait for readers");
      refused("in", () -> in.copyFrom(Graphs.floats(ONE)));
      refused("out", () -> out.copyTo(Graphs.floats(read)));
      refused("out", () -> out.copyFrom(Graphs.floats(ONE)));
      refused("out", () -> other.copyFrom(out));
      refused("in", () -> in.copyFrom(other));
      device.letGo();
      running.get(LIMIT.toSeconds(), TimeUnit.SECONDS).orThrow();
      out.copyTo(Graphs.floats(read));
      assertArrayEquals(new float[] {2, 4, 6, 8}, read, "the memories are as before");
      other.copyFrom(out);
      in.copyFrom(other);
    }
  }
}
