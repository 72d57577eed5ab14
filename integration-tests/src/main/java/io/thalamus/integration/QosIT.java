// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.integration.proof.Workload;
import io.thalamus.model.Priority;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.osgi.framework.BundleContext;
import org.osgi.framework.FrameworkUtil;
import org.osgi.framework.ServiceReference;

/**
 * The output of {@code nn:trace} and {@code nn:qos} while urgent work interrupts a saturated
 * device.
 */
public class QosIT {
  private static final Pattern PREEMPTIONS = Pattern.compile("\"preemptions\":(\\d+)");

  private static final Pattern ROW =
      Pattern.compile("\"application\":\"io.thalamus.integration-tests\",\"client\":\"batch\"");

  private final BundleContext context = FrameworkUtil.getBundle(QosIT.class).getBundleContext();
  private final AtomicBoolean isOver = new AtomicBoolean();

  /** Executes over and over, and returns how many were done; each must be right. */
  private Future<Integer> load(Workload work, Compilation compilation, String name) {
    FutureTask<Integer> task =
        new FutureTask<>(
            () -> {
              int done = 0;
              while (!isOver.get()) {
                assertTrue(
                    work.run(compilation, done % work.requests()).isRight(), "a wrong answer");
                done++;
              }
              return done;
            });
    Thread.ofPlatform().name(name).start(task);
    return task;
  }

  @Test
  void preemptionsAreTracedAndCounted() throws Exception {
    Path digits =
        Path.of(context.getProperty("thalamus.root"))
            .resolve("launcher/samples/digits/digits.tflite")
            .normalize();
    Path directory = Files.createTempDirectory(context.getDataFile("").toPath(), "qos");
    ServiceReference<NeuralNetworks> reference = context.getServiceReference(NeuralNetworks.class);
    NeuralNetworks networks = context.getService(reference);
    CompilationOptions options = CompilationOptions.DEFAULT.withDevices(List.of("cpu"));
    int permits = Runtime.getRuntime().availableProcessors();
    List<Future<Integer>> threads = new ArrayList<>();
    try (Commands commands = new Commands(context);
        Workload work = new Workload(networks, digits, List.of());
        Compilation low = work.compile(options.with(Priority.LOW).withClient("batch"));
        Compilation high = work.compile(options.with(Priority.HIGH).withClient("batch"))) {
      try {
        for (int i = 0; i < 2 * permits; i++) {
          threads.add(load(work, low, "test-low-" + i));
        }
        threads.add(load(work, high, "test-high"));
        traced(commands, directory);
        watched(commands);
      } finally {
        isOver.set(true);
      }
      for (Future<Integer> thread : threads) {
        assertTrue(thread.get() > 0, "nothing was executed");
      }
    } finally {
      context.ungetService(reference);
    }
  }

  /** Records until a preemption is among what was recorded. */
  private static void traced(Commands commands, Path directory) throws Exception {
    Path file = directory.resolve("run.json");
    String trace;
    String shown;
    do {
      shown = commands.text("nn:trace '" + file + "' --seconds 1");
      trace = Files.readString(file);
    } while (!trace.contains("\"cat\":\"Preempt\""));
    assertTrue(shown.contains(" Preempt"), shown);
    assertTrue(trace.contains("\"forPriority\":\"HIGH\""), "for whom");
    assertTrue(trace.contains("\"ph\":\"C\""), "no counter");
    // A step of low priority in more than one run.
    assertTrue(Pattern.compile("\"run\":2,").matcher(trace).find(), "no step is split");
    Path picture = directory.resolve("run.svg");
    commands.text("nn:trace '" + picture + "' --seconds 1");
    assertTrue(Files.readString(picture).startsWith("<svg"));
  }

  private static void watched(Commands commands) throws Exception {
    String json;
    long preemptions;
    do {
      json = commands.text("nn:qos --seconds 2 --json");
      Matcher first = PREEMPTIONS.matcher(json);
      assertTrue(first.find(), json);
      preemptions = Long.parseLong(first.group(1));
    } while (preemptions == 0);
    // The application once, and each of its two models.
    assertEquals(3, ROW.matcher(json).results().count(), json);
    assertTrue(json.contains("\"model\":\"digits.tflite\",\"priority\":\"HIGH\""), json);
    assertTrue(json.contains("\"model\":\"digits.tflite\",\"priority\":\"LOW\""), json);
    String text = commands.text("nn:qos --seconds 2");
    assertTrue(text.contains("io.thalamus.integration-tests: batch"), text);
  }
}
