//! Repeated bisection: split the loosest cluster in two until there are enough.
//!
//! The cluster with the largest sum of squared distances to its centroid is split by 2-means,
//! started from the point farthest from the mean and the point farthest from that one. The paper
//! names the method and leaves criterion and start open; these are ours. It stops early when no
//! cluster can be split.
//!
//! Cost: O(numbers in the cluster) a pass, at most [`PASSES_MAX`] passes a split, so about
//! log₂(clusters) times all numbers when splits are even.

/// Passes of 2-means after which a split stands as it is.
const PASSES_MAX: usize = 12;

/// Points in a space of so many dimensions, however they are kept.
pub trait Points {
    /// How many points.
    fn len(&self) -> usize;
    /// Whether there is none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// How many dimensions.
    fn dimensions(&self) -> usize;
    /// The squared length of a point.
    fn square(&self, point: usize) -> f64;
    /// The product of a point with a vector.
    fn dot(&self, point: usize, vector: &[f32]) -> f64;
    /// Adds a point to a vector.
    fn add_to(&self, point: usize, vector: &mut [f32]);
}

/// Points divided into clusters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Divided {
    /// By point: its cluster. Cluster 0 is never empty, nor is any other.
    pub of: Vec<u32>,
    /// By cluster.
    pub centroids: Vec<Vec<f32>>,
}

impl Divided {
    /// By cluster: all the others, nearest centroid first, ties by number.
    pub fn nearest(&self) -> Vec<Vec<u32>> {
        let squared = |a: &[f32], b: &[f32]| -> f64 {
            let pairs = a.iter().zip(b);
            pairs
                .map(|(a, b)| f64::from(a - b) * f64::from(a - b))
                .sum()
        };
        let count = self.centroids.len();
        let row = |from: usize| {
            let mut others: Vec<(f64, u32)> = (0..count)
                .filter(|other| *other != from)
                .map(|other| {
                    let distance = squared(&self.centroids[from], &self.centroids[other]);
                    (distance, other as u32)
                })
                .collect();
            others.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            others.into_iter().map(|(_, other)| other).collect()
        };
        (0..count).map(row).collect()
    }

    /// How many points each cluster has.
    pub fn sizes(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.centroids.len()];
        for cluster in &self.of {
            sizes[*cluster as usize] += 1;
        }
        sizes
    }
}

/// One cluster on the way.
struct Cluster {
    points: Vec<u32>,
    centroid: Vec<f32>,
    /// The sum of squared distances to the centroid; 0 once it cannot be split.
    looseness: f64,
}

/// Divides points into at most `count` clusters.
pub fn bisect(points: &dyn Points, count: usize) -> Divided {
    if points.is_empty() {
        return Divided::default();
    }
    let mut clusters = vec![cluster(points, (0..points.len() as u32).collect())];
    while clusters.len() < count {
        let loosest = (0..clusters.len())
            .reduce(|a, b| match clusters[b].looseness > clusters[a].looseness {
                true => b,
                false => a,
            })
            .expect("there is a cluster");
        if clusters[loosest].looseness <= 0.0 {
            break;
        }
        match split(points, &clusters[loosest]) {
            None => clusters[loosest].looseness = 0.0,
            Some([one, other]) => {
                clusters[loosest] = cluster(points, one);
                clusters.push(cluster(points, other));
            }
        }
    }
    let mut of = vec![0; points.len()];
    for (number, cluster) in clusters.iter().enumerate() {
        for point in &cluster.points {
            of[*point as usize] = number as u32;
        }
    }
    let centroids = clusters.into_iter().map(|cluster| cluster.centroid);
    Divided {
        of,
        centroids: centroids.collect(),
    }
}

fn cluster(points: &dyn Points, members: Vec<u32>) -> Cluster {
    let centroid = mean(points, members.iter().copied());
    let squares: f64 = members
        .iter()
        .map(|point| points.square(*point as usize))
        .sum();
    let looseness = squares - members.len() as f64 * square(&centroid);
    // What rounding leaves of identical points is no looseness.
    let looseness = if looseness > 1e-6 * squares.max(1e-12) {
        looseness
    } else {
        0.0
    };
    Cluster {
        points: members,
        centroid,
        looseness,
    }
}

/// Splits a cluster by 2-means. None when all its points end up on one side.
fn split(points: &dyn Points, cluster: &Cluster) -> Option<[Vec<u32>; 2]> {
    let first = farthest(points, &cluster.points, &cluster.centroid);
    let mut centres = [mean(points, [first].into_iter()), Vec::new()];
    let second = farthest(points, &cluster.points, &centres[0]);
    centres[1] = mean(points, [second].into_iter());
    let mut sides: Vec<bool> = vec![false; cluster.points.len()];
    for pass in 0..PASSES_MAX {
        let lengths = [square(&centres[0]), square(&centres[1])];
        let mut moved = pass == 0;
        for (side, point) in sides.iter_mut().zip(&cluster.points) {
            let off = |centre: usize| {
                lengths[centre] - 2.0 * points.dot(*point as usize, &centres[centre])
            };
            let now = off(1) < off(0);
            moved |= std::mem::replace(side, now) != now;
        }
        if !moved {
            break;
        }
        for (side, centre) in [false, true].into_iter().zip(&mut centres) {
            let members = sides
                .iter()
                .zip(&cluster.points)
                .filter(|(s, _)| **s == side);
            *centre = mean(points, members.map(|(_, point)| *point));
        }
    }
    let on = |wanted: bool| -> Vec<u32> {
        let members = sides
            .iter()
            .zip(&cluster.points)
            .filter(|(side, _)| **side == wanted);
        members.map(|(_, point)| *point).collect()
    };
    let halves = [on(false), on(true)];
    halves.iter().all(|half| !half.is_empty()).then_some(halves)
}

/// The point farthest from a centre, the first of several.
fn farthest(points: &dyn Points, members: &[u32], centre: &[f32]) -> u32 {
    let mut best = (f64::NEG_INFINITY, members[0]);
    for &point in members {
        let off = points.square(point as usize) - 2.0 * points.dot(point as usize, centre);
        if off > best.0 {
            best = (off, point);
        }
    }
    best.1
}

fn mean(points: &dyn Points, members: impl Iterator<Item = u32>) -> Vec<f32> {
    let mut sum = vec![0f32; points.dimensions()];
    let mut count = 0u32;
    for point in members {
        points.add_to(point as usize, &mut sum);
        count += 1;
    }
    let count = count.max(1) as f32;
    sum.iter_mut().for_each(|number| *number /= count);
    sum
}

fn square(vector: &[f32]) -> f64 {
    vector
        .iter()
        .map(|number| f64::from(*number) * f64::from(*number))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Line(Vec<f32>);

    impl Points for Line {
        fn len(&self) -> usize {
            self.0.len()
        }
        fn dimensions(&self) -> usize {
            1
        }
        fn square(&self, point: usize) -> f64 {
            f64::from(self.0[point]).powi(2)
        }
        fn dot(&self, point: usize, vector: &[f32]) -> f64 {
            f64::from(self.0[point] * vector[0])
        }
        fn add_to(&self, point: usize, vector: &mut [f32]) {
            vector[0] += self.0[point];
        }
    }

    #[test]
    fn groups_that_lie_apart_are_found() {
        let line = Line(vec![1.0, 1.1, 9.0, 5.0, 9.1, 5.2, 0.9, 5.1]);
        let divided = bisect(&line, 3);
        let of = &divided.of;
        assert!(of[0] == of[1] && of[1] == of[6]);
        assert!(of[2] == of[4] && of[3] == of[5] && of[5] == of[7]);
        assert_eq!(divided.sizes().iter().sum::<usize>(), 8);
        // 5 lies nearer to 1 than 9 does.
        let nearest = divided.nearest();
        assert_eq!(nearest[of[0] as usize][0], of[3]);
    }

    #[test]
    fn points_that_are_alike_cannot_be_split() {
        assert_eq!(bisect(&Line(vec![3.3; 50]), 8).centroids.len(), 1);
        assert_eq!(bisect(&Line(vec![1.0, 2.0]), 8).centroids.len(), 2);
        assert_eq!(bisect(&Line(Vec::new()), 8), Divided::default());
    }
}
