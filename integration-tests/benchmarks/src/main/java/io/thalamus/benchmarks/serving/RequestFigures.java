// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.serving;

import io.thalamus.api.ExecutionReport;
import io.thalamus.api.ExecutionReport.StepReport;
import io.thalamus.api.ResultCode;
import io.thalamus.metrics.RequestMetrics;
import io.thalamus.model.Timing;
import io.thalamus.serving.InferenceRequest;
import io.thalamus.serving.RequestTimes;
import io.thalamus.serving.ServingListener.EndedRequest;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/** The figures that an answered request of two steps is counted in. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(1)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
public class RequestFigures {
  private final RequestMetrics metrics = new RequestMetrics();
  private final EndedRequest request =
      new EndedRequest(
          InferenceRequest.of("digits", List.of(), (output, bytes) -> MemorySegment.NULL),
          "1",
          Optional.empty(),
          "",
          Optional.of(
              new ExecutionReport(
                  ResultCode.NO_ERROR, "", List.of(), Timing.NONE, List.of(step(), step()))),
          1,
          new RequestTimes(180_000, 20_000, 5_000, 150_000, 5_000));

  private static StepReport step() {
    return new StepReport("simd", 3, Duration.ofNanos(75_000), ResultCode.NO_ERROR);
  }

  /** One request, from its arrival to its end. */
  @Benchmark
  public void count() {
    metrics.arrived("digits", "1");
    metrics.ended(request);
  }
}
