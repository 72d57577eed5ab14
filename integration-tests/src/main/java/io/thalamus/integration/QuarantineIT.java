// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.DeviceDescription;
import io.thalamus.api.DeviceDescription.State;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.integration.device.Gate;
import io.thalamus.integration.proof.Bundles;
import io.thalamus.integration.proof.Workload;
import java.nio.file.Path;
import java.util.Dictionary;
import java.util.Hashtable;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.FrameworkUtil;
import org.osgi.framework.ServiceReference;
import org.osgi.framework.ServiceRegistration;
import org.osgi.service.cm.Configuration;
import org.osgi.service.cm.ConfigurationAdmin;
import org.osgi.service.cm.ConfigurationListener;

/** A device that fails, by settings that are changed while everything runs. */
public class QuarantineIT {
  private static final String PID = "io.thalamus.runtime.devices";

  private final BundleContext context =
      FrameworkUtil.getBundle(QuarantineIT.class).getBundleContext();
  private final Bundles bundles = new Bundles(context);
  private ServiceReference<NeuralNetworks> reference;
  private ServiceReference<ConfigurationAdmin> adminReference;
  private Configuration configuration;
  private Workload digits;

  @BeforeEach
  void open() throws Exception {
    reference = context.getServiceReference(NeuralNetworks.class);
    Path root = Path.of(context.getProperty("thalamus.root"));
    digits =
        new Workload(
            context.getService(reference),
            root.resolve("launcher/samples/digits/digits.tflite"),
            List.of());
    adminReference = context.getServiceReference(ConfigurationAdmin.class);
    configuration = context.getService(adminReference).getConfiguration(PID, "?");
  }

  @AfterEach
  void close() throws Exception {
    configuration.delete();
    digits.close();
    context.ungetService(adminReference);
    context.ungetService(reference);
  }

  private DeviceDescription sick() {
    return context.getService(reference).devices().stream()
        .filter(device -> device.id().equals("sick"))
        .findFirst()
        .orElseThrow();
  }

  private boolean runsThere(Compilation compilation) {
    Workload.Answer answer = digits.run(compilation, 0);
    assertTrue(answer.isRight(), () -> answer.report().toString());
    return answer.ranOn("sick");
  }

  /** Returns when all have heard of it: they are informed of one change before the next. */
  private void change(Dictionary<String, Object> settings) throws Exception {
    AtomicInteger heard = new AtomicInteger();
    ServiceRegistration<ConfigurationListener> listener =
        context.registerService(
            ConfigurationListener.class,
            event -> {
              if (event.getPid().equals(PID)) {
                heard.incrementAndGet();
              }
            },
            null);
    configuration.update(settings);
    settings.put("marker", "second");
    configuration.update(settings);
    Await.that("the settings are told", () -> heard.get() == 2);
    listener.unregister();
  }

  @Test
  void aDeviceFailsIsSetAsideAndComesBack() throws Exception {
    Bundle spare = SpareBundle.named("sick").install(context);
    try (Compilation compilation = digits.compile(CompilationOptions.DEFAULT)) {
      Await.that("it serves", () -> runsThere(compilation));
      Dictionary<String, Object> settings = new Hashtable<>();
      settings.put("failures", 2);
      settings.put("quarantineMillis", 50L);
      change(settings);
      Dictionary<String, Object> properties = new Hashtable<>();
      properties.put(Gate.DEVICE, "sick");
      ServiceRegistration<BooleanSupplier> shut =
          context.registerService(BooleanSupplier.class, () -> false, properties);
      Await.that(
          "it is in quarantine",
          () -> {
            runsThere(compilation);
            return sick().state() == State.QUARANTINED;
          });
      // Without the change it would have been five.
      assertTrue(sick().health().failures() < 5, () -> sick().health().toString());
      assertTrue(sick().reason().contains("the gate of the test is shut"), sick().reason());
      shut.unregister();
      Await.that("a probe passes", () -> sick().state() == State.AVAILABLE);
      Await.that("it serves again", () -> runsThere(compilation));
      assertEquals(reference, context.getServiceReference(NeuralNetworks.class));
    } finally {
      bundles.uninstall(spare);
    }
  }
}
