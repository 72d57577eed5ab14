// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import java.util.Optional;

/**
 * The bias and the weights of some neighbouring channels, as {@link io.thalamus.x86.kernel.Taps}
 * reads them.
 *
 * @param channel the first one
 * @param channels how many there are
 * @param vectors of the panel
 * @param place where a run packs it; empty where it stands among the constants
 * @param at the first byte there, or among the constants
 */
record Panel(int channel, int channels, int vectors, Optional<Place> place, long at) {}
