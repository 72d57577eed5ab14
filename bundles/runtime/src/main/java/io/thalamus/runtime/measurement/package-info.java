// SPDX-License-Identifier: Apache-2.0
/** Times of operations on the present devices: collected while they run, and stored. */
package io.thalamus.runtime.measurement;
