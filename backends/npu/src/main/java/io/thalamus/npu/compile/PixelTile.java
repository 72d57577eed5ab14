// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.compile;

/**
 * A rectangle of an output.
 *
 * @param index among all tiles
 * @param batch that it belongs to
 * @param y first row
 * @param x first column
 */
record PixelTile(int index, int batch, int y, int x, int height, int width) {}
