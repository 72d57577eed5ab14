// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.integration.proof.Bundles;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.FrameworkUtil;
import org.osgi.framework.InvalidSyntaxException;
import org.osgi.framework.ServiceReference;
import org.osgi.service.condition.Condition;

/** The conditions that tell other bundles what can be used. */
public class ConditionsIT {
  private final BundleContext context =
      FrameworkUtil.getBundle(ConditionsIT.class).getBundleContext();
  private final Path model =
      Path.of(context.getProperty("thalamus.root"))
          .resolve("launcher/samples/digits/digits.tflite")
          .normalize();
  private final List<Bundle> stopped = new ArrayList<>();
  private final Commands commands = new Commands(context);

  @AfterEach
  void close() throws Exception {
    commands.close();
    startAgain();
  }

  private void startAgain() throws Exception {
    for (Bundle bundle : stopped) {
      bundle.start();
    }
    stopped.clear();
  }

  private Collection<ServiceReference<Condition>> find(String id) throws InvalidSyntaxException {
    return context.getServiceReferences(Condition.class, "(osgi.condition.id=" + id + ")");
  }

  private boolean isThere(String id) throws InvalidSyntaxException {
    return !find(id).isEmpty();
  }

  private List<String> devices() throws InvalidSyntaxException {
    Object property = find("thalamus.ready").iterator().next().getProperty("thalamus.devices");
    return Arrays.asList((String[]) property);
  }

  @Test
  void theRuntimeIsReadyWithItsDevices() throws Exception {
    assertTrue(devices().contains("cpu"));
    assertFalse(devices().contains("spare"));
    Bundles bundles = new Bundles(context);
    Bundle spare = SpareBundle.named("spare").install(context);
    assertTrue(devices().contains("spare"));
    bundles.uninstall(spare);
    assertFalse(devices().contains("spare"));
  }

  @Test
  void aLoadedModelIsUsableAsLongAsDevicesCanExecuteIt() throws Exception {
    assertFalse(isThere("thalamus.model.tried"));
    commands.text("nn:load '" + model + "' --name tried");
    try {
      Await.that("it is usable", () -> isThere("thalamus.model.tried"));
      for (Bundle bundle : context.getBundles()) {
        if (List.of("io.thalamus.simd", "io.thalamus.cpu").contains(bundle.getSymbolicName())) {
          bundle.stop();
          stopped.add(bundle);
        }
      }
      assertFalse(isThere("thalamus.ready"));
      Await.that("it is not usable", () -> !isThere("thalamus.model.tried"));
      startAgain();
      assertTrue(isThere("thalamus.ready"));
      Await.that("it is usable again", () -> isThere("thalamus.model.tried"));
    } finally {
      commands.text("nn:unload tried");
    }
    Await.that("it is gone", () -> !isThere("thalamus.model.tried"));
  }
}
