// SPDX-License-Identifier: Apache-2.0
package com.example.osgi;

import io.thalamus.api.Answer;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.Network;
import io.thalamus.api.NeuralNetworks;
import java.io.File;
import java.nio.file.Path;
import javax.imageio.ImageIO;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** A component that classifies pictures, and the shell's command {@code example:digit}. */
@Component(
    service = Digits.class,
    property = {"osgi.command.scope=example", "osgi.command.function=digit"})
public final class Digits {
  private final NeuralNetworks networks;

  /** Called by the component runtime, as soon as the service is there. */
  @Activate
  public Digits(@Reference NeuralNetworks networks) {
    this.networks = networks;
  }

  /**
   * Classifies a picture.
   *
   * @return the best classes, and the devices that computed them
   */
  public String digit(String model, String picture) throws Exception {
    try (Network network = Network.open(networks, Path.of(model), CompilationOptions.DEFAULT)) {
      Answer answer = network.run(ImageIO.read(new File(picture)));
      return answer.top(3) + " on " + answer.devices();
    }
  }
}
