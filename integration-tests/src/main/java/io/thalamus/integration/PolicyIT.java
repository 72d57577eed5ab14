// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.integration.policy.StrangersPolicy;
import io.thalamus.integration.proof.Bundles;
import io.thalamus.integration.proof.Workload;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.Constants;
import org.osgi.framework.FrameworkUtil;
import org.osgi.framework.ServiceReference;

/** A partition policy of a bundle that nobody knew arrives, decides and leaves. */
public class PolicyIT {
  private static final String NAME = new StrangersPolicy().name();
  private static final CompilationOptions STRANGERS = CompilationOptions.DEFAULT.withPolicy(NAME);

  private final BundleContext context = FrameworkUtil.getBundle(PolicyIT.class).getBundleContext();
  private final Bundles bundles = new Bundles(context);
  private ServiceReference<NeuralNetworks> reference;
  private NeuralNetworks networks;
  private Workload digits;
  private Bundle stranger;

  @BeforeEach
  void load() throws Exception {
    reference = context.getServiceReference(NeuralNetworks.class);
    networks = context.getService(reference);
    Path root = Path.of(context.getProperty("thalamus.root"));
    digits =
        new Workload(networks, root.resolve("launcher/samples/digits/digits.tflite"), List.of());
  }

  @AfterEach
  void giveBack() {
    digits.close();
    context.ungetService(reference);
  }

  private void install() throws Exception {
    stranger =
        context.installBundle(
            "test:policy:" + System.nanoTime(),
            BundleFile.of(
                "io/thalamus/integration/policy",
                Map.of(
                    Constants.BUNDLE_SYMBOLICNAME,
                    "com.example.policy",
                    Constants.BUNDLE_ACTIVATOR,
                    StrangersPolicy.class.getName(),
                    Constants.IMPORT_PACKAGE,
                    "io.thalamus.runtime.policy;version=\"[1.0,2)\","
                        + "io.thalamus.model;version=\"[1.0,2)\",org.osgi.framework")));
    stranger.start();
  }

  private void uninstall() throws Exception {
    bundles.uninstall(stranger);
    stranger = null;
  }

  private boolean ranOn(String device, Compilation compilation) {
    Workload.Answer answer = digits.run(compilation, 0);
    assertTrue(answer.isRight(), () -> answer.report().toString());
    return answer.ranOn(device);
  }

  @Test
  void aStrangersPolicyDecidesAsLongAsItIsHere() throws Exception {
    assertThrows(NeuralNetworksException.class, () -> digits.compile(STRANGERS));
    install();
    assertEquals(List.of("nnapi", "search", NAME), networks.policies());
    try (Compilation compilation = digits.compile(STRANGERS);
        Compilation usual = digits.compile(CompilationOptions.DEFAULT)) {
      assertEquals(NAME, compilation.plan().policy());
      assertTrue(ranOn("cpu", compilation) && !ranOn("simd", compilation));
      assertTrue(ranOn("simd", usual));
      uninstall();
      assertFalse(networks.policies().contains(NAME));
      Await.that("it is planned again", () -> compilation.plan().policy().equals("nnapi"));
      assertEquals(
          List.of("the partition policy " + NAME + " is not here; nnapi decided"),
          compilation.plan().prediction().remarks());
      assertTrue(ranOn("simd", compilation));
      install();
      Await.that("it decides again", () -> compilation.plan().policy().equals(NAME));
      assertTrue(ranOn("cpu", compilation));
      uninstall();
      Await.that("it is gone again", () -> compilation.plan().policy().equals("nnapi"));
    }
    assertEquals(List.of(), bundles.leftLoaders(), "class loaders of policies that are gone");
  }

  @Test
  void theSearchingPolicyGivesTheSameBytes() throws Exception {
    CompilationOptions search = CompilationOptions.DEFAULT.withPolicy("search");
    try (Compilation compilation = digits.compile(search)) {
      for (int i = 0; i < digits.requests(); i++) {
        assertTrue(digits.run(compilation, i).isRight());
      }
    }
  }
}
