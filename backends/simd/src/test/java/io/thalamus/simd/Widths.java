// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Tests that the build also runs with shorter vectors than this machine has. */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Tag("widths")
@ExtendWith(Widths.Shorter.class)
public @interface Widths {
  /** A limit that shortens nothing would repeat the run without one. */
  final class Shorter implements ExecutionCondition {
    private static final Pattern OPTION = Pattern.compile("-XX:MaxVectorSize=(\\d+)");
    private static final Pattern FLAG = Pattern.compile("\\bMaxVectorSize\\s*=\\s*(\\d+)");
    private static final ConditionEvaluationResult RESULT = evaluate();

    @Override
    public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
      return RESULT;
    }

    private static ConditionEvaluationResult evaluate() {
      OptionalInt limit =
          ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
              .map(OPTION::matcher)
              .filter(Matcher::matches)
              .mapToInt(option -> Integer.parseInt(option.group(1)))
              .findFirst();
      if (limit.isEmpty()) {
        return ConditionEvaluationResult.enabled("without a limit");
      }
      int machine = widthWithoutLimit();
      return limit.getAsInt() < machine
          ? ConditionEvaluationResult.enabled("this machine has vectors of " + machine + " bytes")
          : ConditionEvaluationResult.disabled(
              "vectors of this machine have " + machine + " bytes without a limit");
    }

    /** Asks a JVM without the option: this one has forgotten what it would use. */
    private static int widthWithoutLimit() {
      try {
        Process process =
            new ProcessBuilder(
                    Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                    "-XX:+PrintFlagsFinal",
                    "-version")
                .redirectErrorStream(true)
                .start();
        String text =
            new String(process.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
        Matcher flag = FLAG.matcher(text);
        if (!flag.find()) {
          throw new IllegalStateException("no MaxVectorSize among the JVM's flags: " + text);
        }
        return Integer.parseInt(flag.group(1));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }
}
