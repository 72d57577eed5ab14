// SPDX-License-Identifier: Apache-2.0
package io.thalamus.jcstress;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.HashSet;
import java.util.Set;
import org.openjdk.jcstress.JCStress;
import org.openjdk.jcstress.Options;
import org.openjdk.jcstress.infra.Status;
import org.openjdk.jcstress.infra.collectors.DiskReadCollector;
import org.openjdk.jcstress.infra.collectors.InProcessCollector;
import org.openjdk.jcstress.infra.collectors.TestResult;

/** The entry point: jcstress with its own options, and a summary of a few figures. */
public final class Main {
  private Main() {}

  /** Runs the tests; exits with 1 where an outcome is forbidden, or no test ran. */
  public static void main(String[] args) throws Exception {
    Options options = new Options(args);
    if (!options.parse()) {
      System.exit(2);
    }
    JCStress stress = new JCStress(options);
    if (options.shouldList()) {
      stress.getTests().forEach(System.out::println);
      return;
    }
    boolean hasPassed = true;
    try {
      stress.run();
    } catch (AssertionError e) {
      // jcstress throws it after its report when a test failed; the summary says which.
      hasPassed = false;
    }
    InProcessCollector results = new InProcessCollector();
    if (Files.exists(Path.of(options.getResultFile()))) {
      DiskReadCollector file = new DiskReadCollector(options.getResultFile(), results);
      try {
        file.dump();
      } finally {
        file.close();
      }
    } else {
      System.out.println("no test ran: give -t a name that exists, and jcstress two processors");
    }
    System.exit(summarize(results.getTestResults()) && hasPassed ? 0 : 1);
  }

  /** Prints the figures. Returns whether tests ran and all of them passed. */
  private static boolean summarize(Collection<TestResult> results) {
    Set<String> tests = new HashSet<>();
    long samples = 0;
    int forbidden = 0;
    int broken = 0;
    for (TestResult result : results) {
      tests.add(result.getName());
      samples += result.getTotalCount();
      if (result.status() != Status.NORMAL) {
        // No outcome: the test threw, hung or did not start.
        broken++;
        System.out.println(result.getName() + ": " + result.status());
      } else if (!result.grading().isPassed) {
        forbidden++;
        System.out.println(result.getName() + ": " + result.grading().failureMessages);
      }
    }
    System.out.println("tests = " + tests.size());
    System.out.println("configurations = " + results.size());
    System.out.println("samples = " + samples);
    System.out.println("broken = " + broken);
    System.out.println("forbidden = " + forbidden);
    return !tests.isEmpty() && broken == 0 && forbidden == 0;
  }
}
