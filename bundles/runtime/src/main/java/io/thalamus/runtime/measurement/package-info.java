// SPDX-License-Identifier: Apache-2.0
/** How long operations take on the devices here: collected while they run, and kept. */
package io.thalamus.runtime.measurement;
