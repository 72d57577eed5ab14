// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

/**
 * The bias and the weights of some neighbouring channels, as {@link io.thalamus.x86.kernel.Taps}
 * reads them, and those of as many channels behind these, and so on.
 *
 * @param channel the first one
 * @param channels of a panel
 * @param vectors of a panel
 * @param count of panels, one behind the other
 * @param at where a run packs the first, or the constants have it
 * @param areBytes whether the weights are bytes with the factor of each channel
 */
record Panel(int channel, int channels, int vectors, int count, Spot at, boolean areBytes) {}
