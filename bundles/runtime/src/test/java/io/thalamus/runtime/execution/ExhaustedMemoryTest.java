// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.DeviceDescription;
import io.thalamus.api.MemoryDesc;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.model.Model;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.TestRuntime;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Executions without room for their arguments. They run in a JVM of its own, in a mount namespace
 * in which {@code /dev/shm} and the temporary directory have 1 MiB each; skipped if the system
 * forbids that.
 */
class ExhaustedMemoryTest {
  @TempDir Path temporary;

  private static Process start(List<String> command) throws IOException {
    return new ProcessBuilder(command).redirectErrorStream(true).start();
  }

  private static void requireNamespaces() throws InterruptedException {
    int status;
    try {
      status =
          start(List.of("unshare", "-rm", "mount", "-t", "tmpfs", "none", "/dev/shm")).waitFor();
    } catch (IOException e) {
      status = -1;
    }
    assumeTrue(status == 0, "this system lets no user mount a file system: not tried");
  }

  @Test
  void executionsEndAndTheRuntimeGoesOn() throws Exception {
    requireNamespaces();
    Process process =
        start(
            List.of(
                "unshare",
                "-rm",
                "sh",
                "-c",
                "mount -t tmpfs -o size=1m none /dev/shm && mount -t tmpfs -o size=1m none \"$0\""
                    + " && exec \"$@\"",
                temporary.toString(),
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Djava.io.tmpdir=" + temporary,
                "-cp",
                System.getProperty("java.class.path"),
                Crowded.class.getName()));
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertTrue(process.waitFor(60, TimeUnit.SECONDS));
    assertEquals(
        """
        small: NO_ERROR
        large: RESOURCE_EXHAUSTED_TRANSIENT
        memory: RESOURCE_EXHAUSTED_TRANSIENT
        small: NO_ERROR
        npu: AVAILABLE, 0 failures
        """,
        output
            .lines()
            .filter(line -> line.contains(": "))
            .map(line -> line + "\n")
            .reduce("", String::concat));
    assertEquals(0, process.exitValue());
  }

  /** The other process. */
  static final class Crowded {
    public static void main(String[] words) throws Exception {
      try (TestRuntime runtime = TestRuntime.of(LimitedDevice.all("npu", 0.1))) {
        compute(runtime, "small", 64);
        compute(runtime, "large", 1 << 20);
        try (Compilation large = compile(runtime, 1 << 20)) {
          runtime
              .networks()
              .createMemory(MemoryDesc.builder("large").input(large, 0).build())
              .close();
        } catch (NeuralNetworksException e) {
          System.out.println("memory: " + e.code());
        }
        compute(runtime, "small", 64);
        DeviceDescription device = runtime.networks().devices().getFirst();
        System.out.println(
            device.id() + ": " + device.state() + ", " + device.health().failures() + " failures");
      }
    }

    private static Compilation compile(TestRuntime runtime, int floats) throws Exception {
      Model model = Graphs.twice(floats);
      return runtime.networks().compile(model, CompilationOptions.DEFAULT);
    }

    private static void compute(TestRuntime runtime, String name, int floats) throws Exception {
      try (Compilation compilation = compile(runtime, floats)) {
        System.out.println(
            name
                + ": "
                + compilation
                    .createExecution()
                    .setInput(0, MemorySegment.ofArray(new float[floats]))
                    .setOutput(0, MemorySegment.ofArray(new float[floats]))
                    .compute()
                    .code());
      }
    }
  }
}
