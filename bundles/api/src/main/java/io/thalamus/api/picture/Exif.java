// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api.picture;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The orientation of a camera, out of a JPEG file: the tag Orientation (0x0112) in the first
 * directory of the Exif segment (JEITA CP-3451, TIFF 6.0). Anything unusual counts as upright.
 */
final class Exif {
  private static final int UPRIGHT = 1;
  private static final int START_OF_IMAGE = 0xFFD8;
  private static final int START_OF_SCAN = 0xDA;
  private static final int APPLICATION_1 = 0xE1;
  private static final int EXIF = 0x45786966;
  private static final int ORIENTATION = 0x0112;
  private static final int ENTRY_SIZE = 12;

  private Exif() {}

  /** A number from 1 to 8. */
  static int orientation(byte[] file) {
    ByteBuffer bytes = ByteBuffer.wrap(file);
    if (bytes.remaining() < 4 || (bytes.getShort() & 0xFFFF) != START_OF_IMAGE) {
      return UPRIGHT;
    }
    while (bytes.remaining() >= 4 && (bytes.get() & 0xFF) == 0xFF) {
      int marker = bytes.get() & 0xFF;
      int length = bytes.getShort() & 0xFFFF;
      if (marker == START_OF_SCAN || length < 2 || length - 2 > bytes.remaining()) {
        return UPRIGHT;
      }
      ByteBuffer segment = bytes.slice(bytes.position(), length - 2);
      if (marker == APPLICATION_1 && segment.remaining() > 14 && segment.getInt(0) == EXIF) {
        return tiff(segment.slice(6, segment.remaining() - 6));
      }
      bytes.position(bytes.position() + length - 2);
    }
    return UPRIGHT;
  }

  private static int tiff(ByteBuffer tiff) {
    tiff.order(tiff.get(0) == 'I' ? ByteOrder.LITTLE_ENDIAN : ByteOrder.BIG_ENDIAN);
    int directory = tiff.getInt(4);
    if (directory < 8 || directory > tiff.limit() - 2) {
      return UPRIGHT;
    }
    int entries = tiff.getShort(directory) & 0xFFFF;
    for (int i = 0; i < entries; i++) {
      int entry = directory + 2 + i * ENTRY_SIZE;
      if (entry > tiff.limit() - ENTRY_SIZE) {
        return UPRIGHT;
      }
      if ((tiff.getShort(entry) & 0xFFFF) == ORIENTATION) {
        int value = tiff.getShort(entry + 8) & 0xFFFF;
        return value >= 1 && value <= 8 ? value : UPRIGHT;
      }
    }
    return UPRIGHT;
  }
}
