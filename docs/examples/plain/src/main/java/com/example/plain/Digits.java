// SPDX-License-Identifier: Apache-2.0
package com.example.plain;

import io.thalamus.embedded.Thalamus;
import java.io.File;
import java.nio.file.Path;
import javax.imageio.ImageIO;

/** Classifies a picture. */
public final class Digits {
  private Digits() {}

  /**
   * Prints the best classes of a picture.
   *
   * @param args a model and a picture
   */
  public static void main(String[] args) throws Exception {
    try (var thalamus = Thalamus.start();
        var digits = thalamus.network(Path.of(args[0]))) {
      var answer = digits.run(ImageIO.read(new File(args[1])));
      System.out.println(answer.top(3) + " on " + answer.devices());
    }
  }
}
