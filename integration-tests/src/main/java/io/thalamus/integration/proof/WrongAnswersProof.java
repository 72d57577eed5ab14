// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.proof;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.DeviceDescription;
import io.thalamus.api.DeviceHealth;
import io.thalamus.api.NeuralNetworks;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Dictionary;
import java.util.Hashtable;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.felix.service.command.CommandProcessor;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Converter;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.service.cm.Configuration;
import org.osgi.service.cm.ConfigurationAdmin;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/**
 * A device answers wrongly now and then, and samples of its executions are compared with the
 * reference: how many of the wrong answers are found at which rate of sampling, and how many reach
 * the application before the first one is. Wrong answers to the runtime's own probes, while the
 * device is in quarantine, are among those given and not among those found.
 */
@Component(service = BiFunction.class, property = FrameworkProof.NAME + "=wrong-answers")
public final class WrongAnswersProof extends FrameworkProof {
  private static final String DEVICE = "npu";
  private static final String RUNTIME_DEVICES = "io.thalamus.runtime.devices";
  private static final Pattern WRONG = Pattern.compile("\"wrong\":(\\d+)");
  private static final long PAUSE_MILLIS = 2;

  private final BundleContext context;
  private final NeuralNetworks networks;
  private final ConfigurationAdmin configurations;
  private final CommandProcessor gogo;

  /** Called by the component runtime. */
  @Activate
  public WrongAnswersProof(
      BundleContext context,
      @Reference NeuralNetworks networks,
      @Reference ConfigurationAdmin configurations,
      @Reference CommandProcessor gogo) {
    this.context = context;
    this.networks = networks;
    this.configurations = configurations;
    this.gogo = gogo;
  }

  private record Plan(long requests, String rate, long seed, long seconds) {}

  /**
   * The counts of one run.
   *
   * @param onDevice executions that the device took part in
   * @param wrong answers that it gave, to probes too
   * @param found of them by sampling
   * @param delivered to the application
   * @param untilFound executions on the device until the first was found; -1 where none was
   * @param deliveredUntilFound wrong answers that the application had got by then
   */
  private record Tally(
      double sampling,
      long onDevice,
      long wrong,
      long found,
      long samples,
      long delivered,
      long untilFound,
      long deliveredUntilFound) {}

  @Override
  protected void run(Settings settings, Figures figures) throws Exception {
    String home = String.valueOf(context.getProperty("thalamus.home"));
    Plan plan =
        new Plan(
            settings.number("requests", 1000),
            settings.text("rate", "0.1"),
            settings.number("seed", 7),
            settings.number("seconds", 120));
    Path model = Path.of(settings.text("model", home + "/samples/digits/digits.tflite"));
    List<Double> samplings = new ArrayList<>();
    for (String word : settings.text("sampling", "0.01,0.1,1").split(",")) {
      samplings.add(Double.parseDouble(word));
    }
    settings.end();
    figures.figure("model", model.getFileName());
    figures.figure("rateOfWrongAnswers", plan.rate());
    figures.figure("seed", plan.seed());
    Bundles bundles = new Bundles(context);
    Bundle npu =
        bundles.install(
            "proof:" + DEVICE,
            Files.newInputStream(Path.of(home, "devices/io.thalamus." + DEVICE + ".jar")));
    Configuration configuration = configurations.getConfiguration(RUNTIME_DEVICES, null);
    try (Workload workload = new Workload(networks, model, List.of())) {
      forgiving(configuration);
      List<Tally> tallies = new ArrayList<>();
      for (double sampling : samplings) {
        Tally tally = measure(plan, workload, sampling);
        tell(tally, figures);
        tallies.add(tally);
      }
      judge(tallies, plan, figures);
    } finally {
      configuration.delete();
      bundles.uninstall(npu);
    }
  }

  /** A device that is found out is tried again at once, so that one run sees more than one find. */
  private static void forgiving(Configuration configuration) throws Exception {
    Dictionary<String, Object> properties = new Hashtable<>();
    properties.put("quarantineMillis", 1L);
    properties.put("longestQuarantineMillis", 1L);
    configuration.update(properties);
  }

  private Tally measure(Plan plan, Workload workload, double sampling) throws Exception {
    CompilationOptions options =
        CompilationOptions.DEFAULT.withDevices(List.of(DEVICE, "cpu")).withSampling(sampling);
    try (CommandSession session =
        gogo.createSession(
            new ByteArrayInputStream(new byte[0]),
            new ByteArrayOutputStream(),
            new ByteArrayOutputStream())) {
      chaos(session, "reset");
      awaitDevice(networks, DEVICE);
      try (Compilation compilation = workload.compile(options)) {
        long before =
            wrong(chaos(session, "wrong --rate " + plan.rate() + " --seed " + plan.seed()));
        DeviceHealth then = health();
        long onDevice = 0;
        long delivered = 0;
        long untilFound = -1;
        long deliveredUntilFound = 0;
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(plan.seconds());
        for (int i = 0; onDevice < plan.requests() && System.nanoTime() < end; i++) {
          Workload.Answer answer = workload.run(compilation, i);
          delivered += answer.isRight() ? 0 : 1;
          boolean sawDevice =
              answer.report().steps().stream().anyMatch(step -> step.device().equals(DEVICE));
          if (!sawDevice) {
            Thread.sleep(PAUSE_MILLIS); // it is being tried again
            continue;
          }
          onDevice++;
          if (untilFound < 0) {
            if (health().mismatches() > then.mismatches()) {
              untilFound = onDevice;
            } else {
              deliveredUntilFound = delivered;
            }
          }
        }
        DeviceHealth now = health();
        long wrong = wrong(chaos(session, "status")) - before;
        chaos(session, "reset");
        return new Tally(
            sampling,
            onDevice,
            wrong,
            now.mismatches() - then.mismatches(),
            now.samples() - then.samples(),
            delivered,
            untilFound,
            deliveredUntilFound);
      }
    }
  }

  private static String chaos(CommandSession session, String words) throws Exception {
    Object result = session.execute("nn:chaos " + DEVICE + " " + words + " --json");
    return session.format(result, Converter.INSPECT).toString();
  }

  private static long wrong(String status) {
    Matcher matcher = WRONG.matcher(status);
    if (!matcher.find()) {
      throw new IllegalStateException("no count in " + status);
    }
    return Long.parseLong(matcher.group(1));
  }

  private DeviceDescription description() {
    return networks.devices().stream()
        .filter(device -> device.id().equals(DEVICE))
        .findFirst()
        .orElseThrow(() -> new IllegalStateException("the device has gone"));
  }

  private DeviceHealth health() {
    return description().health();
  }

  private static void tell(Tally tally, Figures figures) {
    String key = "sampling" + Math.round(100 * tally.sampling()) + "Percent.";
    figures.figure(key + "executionsOnDevice", tally.onDevice());
    figures.figure(key + "wrongAnswers", tally.wrong());
    figures.figure(key + "samples", tally.samples());
    figures.figure(key + "found", tally.found());
    figures.decimal(key + "shareFound", (double) tally.found() / Math.max(1, tally.wrong()));
    figures.figure(key + "reachedTheApplication", tally.delivered());
    figures.figure(key + "executionsUntilFirstFound", tally.untilFound());
    figures.figure(key + "reachedUntilFirstFound", tally.deliveredUntilFound());
  }

  private static void judge(List<Tally> tallies, Plan plan, Figures figures) {
    for (Tally tally : tallies) {
      String name = "at " + 100 * tally.sampling() + " % ";
      figures.promise(name + "enough executions were made", tally.onDevice() >= plan.requests());
      figures.promise(name + "there were wrong answers", tally.wrong() > 0);
      if (tally.sampling() == 1) {
        figures.promise(name + "no wrong answer reaches the application", tally.delivered() == 0);
      }
    }
    for (int i = 1; i < tallies.size(); i++) {
      figures.promise(
          "more sampling finds more",
          tallies.get(i).found() >= tallies.get(i - 1).found()
              || tallies.get(i).sampling() <= tallies.get(i - 1).sampling());
    }
  }
}
