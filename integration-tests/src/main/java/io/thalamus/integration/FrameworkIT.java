// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.ToIntFunction;
import org.junit.jupiter.api.Test;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.Constants;
import org.osgi.framework.FrameworkUtil;

/** The framework comes up with every bundle of the project. */
public class FrameworkIT {
  private final BundleContext context =
      FrameworkUtil.getBundle(FrameworkIT.class).getBundleContext();

  @Test
  void everyBundleIsActive() {
    List<String> idle = new ArrayList<>();
    Set<String> ours = new TreeSet<>();
    for (Bundle bundle : context.getBundles()) {
      boolean fragment = bundle.getHeaders().get(Constants.FRAGMENT_HOST) != null;
      if (!fragment && bundle.getState() != Bundle.ACTIVE) {
        idle.add(bundle.getSymbolicName());
      }
      if (bundle.getSymbolicName().startsWith("io.thalamus.")) {
        ours.add(bundle.getSymbolicName());
      }
    }
    assertEquals(List.of(), idle);
    assertTrue(
        ours.containsAll(
            Set.of(
                "io.thalamus.memory",
                "io.thalamus.model",
                "io.thalamus.api",
                "io.thalamus.hal",
                "io.thalamus.operations",
                "io.thalamus.vectors",
                "io.thalamus.tflite",
                "io.thalamus.driver",
                "io.thalamus.runtime",
                "io.thalamus.shell",
                "io.thalamus.cpu",
                "io.thalamus.simd")),
        ours::toString);
  }

  @Test
  void theShellTakesRequestsWithoutATerminal() throws Exception {
    assertEquals(
        1, context.getServiceReferences(ToIntFunction.class, "(thalamus.batch=true)").size());
  }
}
