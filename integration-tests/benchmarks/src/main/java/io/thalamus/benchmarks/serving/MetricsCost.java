// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.serving;

import java.util.Locale;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.VerboseMode;

/**
 * The entry of {@code integration-tests/run metrics-cost}: what counting a request costs, as a part
 * of an execution of the sample. Fails where it is 1 % or more of the fastest one.
 */
public final class MetricsCost {
  private static final double BOUND_PERCENT = 1;

  private MetricsCost() {}

  /**
   * Measures; status 0 if the bound is kept, 1 if not.
   *
   * @param words none
   */
  public static void main(String[] words) throws RunnerException {
    double count = 0;
    double fastest = Double.MAX_VALUE;
    for (RunResult result :
        new Runner(
                new OptionsBuilder()
                    .include(RequestFigures.class.getName())
                    .include(DigitsExecution.class.getName())
                    .verbosity(VerboseMode.SILENT)
                    .build())
            .run()) {
      double nanos = result.getPrimaryResult().getScore();
      String device = result.getParams().getParam("device");
      if (device == null) {
        count = nanos;
        print("request.metricsNanos", nanos);
      } else {
        fastest = Math.min(fastest, nanos);
        print("digits." + device + ".executionNanos", nanos);
      }
    }
    double percent = 100 * count / fastest;
    print("metricsPercentOfFastest", percent);
    if (percent >= BOUND_PERCENT) {
      System.out.println("broken = the metrics cost less than 1 % of an execution");
      System.exit(1);
    }
  }

  private static void print(String name, double value) {
    System.out.printf(Locale.ROOT, "%s = %.3f%n", name, value);
  }
}
