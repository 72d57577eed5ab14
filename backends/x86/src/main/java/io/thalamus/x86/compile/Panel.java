// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

/**
 * The bias and the weights of some neighbouring channels, as {@link io.thalamus.x86.kernel.Taps}
 * reads them.
 *
 * @param channel the first one
 * @param channels how many there are
 * @param vectors of the panel
 * @param at where a run packs it, or the constants have it
 */
record Panel(int channel, int channels, int vectors, Spot at) {}
