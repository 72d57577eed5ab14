// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.ClassOrderer;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.launcher.Launcher;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;
import org.junit.platform.launcher.listeners.TestExecutionSummary.Failure;

/**
 * The entry of {@code integration-tests/run guards}: all tests of functions of random shapes
 * between pages that nobody may touch, with one seed after the other, until the time is over. A
 * wrong access ends the process by SIGSEGV behind the line with its seed; a wrong result is told
 * and counted.
 */
public final class GuardedRun {
  /** Those whose shapes are random. */
  private static final List<DiscoverySelector> TESTS =
      Stream.of(
              "ChainsTest",
              "DetectionsTest",
              "DynamicQuantizationTest",
              "FindingTest",
              "FloatOperationsTest",
              "FusionTest",
              "HalfFloatsTest",
              "ProductsTest",
              "RecurrenceTest",
              "ReductionsTest",
              "SpreadConvolutionTest",
              "StoredConvolutionTest",
              "StoredOperationsTest",
              "kernel.ChosenBoxesTest",
              "kernel.GuardedFloatsTest",
              "kernel.GuardedTest")
          .map(name -> selectClass("io.thalamus.x86." + name))
          .collect(Collectors.toUnmodifiableList());

  private GuardedRun() {}

  /** Runs for {@code --minutes} from {@code --seed} on; status 1 where a result is wrong. */
  public static void main(String[] arguments) {
    Map<String, Long> options = new TreeMap<>(Map.of("--minutes", 10L, "--seed", 1L));
    for (int i = 0; i < arguments.length; i += 2) {
      if (i + 1 == arguments.length
          || options.replace(arguments[i], number(arguments[i + 1])) == null) {
        System.err.println("usage: integration-tests/run guards [--minutes 10] [--seed 1]");
        System.exit(2);
      }
    }
    System.exit(run(options.get("--minutes"), options.get("--seed")) == 0 ? 0 : 1);
  }

  private static long number(String word) {
    try {
      return Long.parseLong(word);
    } catch (NumberFormatException e) {
      System.err.println("not a whole number: " + word);
      System.exit(2);
      throw e;
    }
  }

  private static long run(long minutes, long firstSeed) {
    Launcher launcher = LauncherFactory.create();
    Instant end = Instant.now().plus(Duration.ofMinutes(minutes));
    long seed = firstSeed;
    long tests = 0;
    long wrong = 0;
    do {
      System.out.println("seed = " + seed);
      System.setProperty("thalamus.seed", Long.toString(seed++));
      SummaryGeneratingListener listener = new SummaryGeneratingListener();
      LauncherDiscoveryRequest request =
          LauncherDiscoveryRequestBuilder.request()
              .selectors(TESTS)
              .configurationParameter(
                  ClassOrderer.DEFAULT_ORDER_PROPERTY_NAME,
                  ClassOrderer.OrderAnnotation.class.getName())
              .build();
      launcher.execute(request, listener);
      tests += listener.getSummary().getTestsSucceededCount();
      wrong += listener.getSummary().getTotalFailureCount();
      for (Failure failure : listener.getSummary().getFailures()) {
        System.out.println(
            "wrong: "
                + failure.getTestIdentifier().getLegacyReportingName()
                + ": "
                + failure.getException());
      }
    } while (Instant.now().isBefore(end));
    System.out.println("seeds = " + (seed - firstSeed));
    System.out.println("tests = " + tests);
    System.out.println("wrong = " + wrong);
    // Nothing has been shown where no test could run.
    return tests == 0 ? 1 : wrong;
  }
}
