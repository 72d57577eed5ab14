// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import io.thalamus.integration.proof.Figures;
import io.thalamus.integration.proof.Settings;
import java.nio.file.Path;
import java.util.List;

/**
 * A proof of the bundle of proofs, called in a framework of this process.
 *
 * @param without names of device bundles that are not there from the start
 */
record InFramework(String name, String purpose, List<String> without) implements Proof {
  @Override
  public void run(Settings settings, Figures figures) throws Exception {
    try (Host host = Host.start(Path.of(System.getProperty("thalamus.root")), without)) {
      host.call(name, settings.rest(), figures);
    }
  }
}
