// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.serving;

import io.thalamus.benchmarks.engine.Engine;
import io.thalamus.model.Priority;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/** Executions of the sample by the runtime, without a server. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(1)
@Warmup(iterations = 10, time = 2)
@Measurement(iterations = 5, time = 1)
public class DigitsExecution {
  private static final int INPUT_BYTES = 784;

  @Param({"simd", "cpu"})
  public String device;

  private Engine.Host host;
  private Engine.Session session;

  /** Starts the product's bundles with the device. */
  @Setup
  public void open() throws Exception {
    host = Engine.find(device).orElseThrow().start(1);
    session =
        host.open(
            Path.of(System.getProperty("thalamus.home"), "samples/digits/digits.tflite"),
            List.of(new byte[INPUT_BYTES]),
            Priority.MEDIUM);
  }

  /** One execution. */
  @Benchmark
  public void execute() throws Exception {
    session.run();
  }

  /** Ends all. */
  @TearDown
  public void close() {
    session.close();
    host.close();
  }
}
