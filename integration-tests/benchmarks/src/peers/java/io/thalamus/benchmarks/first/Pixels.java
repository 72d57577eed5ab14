// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.first;

import java.awt.Graphics2D;
import java.awt.image.BufferedImage;
import java.awt.image.DataBufferByte;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/** The work that other runtimes leave to the program: pixels in, best classes out. Stateless. */
final class Pixels {
  static final int SIDE = 28;

  private static final int BEST = 3;
  private static final float WHITE = 255;

  private Pixels() {}

  /** Returns grey values from 0 to 1. The samples are squares of equal pixels: any one is right. */
  static float[] of(BufferedImage image) {
    BufferedImage small = new BufferedImage(SIDE, SIDE, BufferedImage.TYPE_BYTE_GRAY);
    Graphics2D graphics = small.createGraphics();
    graphics.drawImage(image, 0, 0, SIDE, SIDE, null);
    graphics.dispose();
    byte[] bytes = ((DataBufferByte) small.getRaster().getDataBuffer()).getData();
    float[] values = new float[bytes.length];
    for (int i = 0; i < bytes.length; i++) {
      values[i] = Byte.toUnsignedInt(bytes[i]) / WHITE;
    }
    return values;
  }

  static List<String> best(float[] scores) {
    return IntStream.range(0, scores.length)
        .boxed()
        .sorted(Comparator.comparingDouble(i -> -scores[i]))
        .limit(BEST)
        .map(i -> "%d %.3f".formatted(i, scores[i]))
        .toList();
  }
}
